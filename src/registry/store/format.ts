import { join } from 'node:path'
import { PRODUCT } from '../../domain/product.ts'
import { readIfExists } from './files.ts'
import { StartupError } from '../../lib/startup-error.ts'

/** PostgreSQL major version of the pinned PGlite, which cannot open files of another major version */
const FORMAT = '18'

/** Returns true if the folder holds an embedded store. Throws StartupError if its format is another one. */
export async function checkFormat(folder: string): Promise<boolean> {
  const found = (await readIfExists(join(folder, 'PG_VERSION')))?.trim()
  if (found === undefined) return false
  if (found !== FORMAT) {
    throw new StartupError(
      `the store in ${folder} has format ${found} and this version reads format ${FORMAT}: ` +
        `run "${PRODUCT} export" with the version that wrote it, then "${PRODUCT} apply" with this one on a new data directory`
    )
  }
  return true
}
