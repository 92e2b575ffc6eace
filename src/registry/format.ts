import { join } from 'node:path'
import { PRODUCT } from '../domain/product.ts'
import { readIfThere } from './files.ts'
import { StartRefusal } from './refusal.ts'

/** Major version of the PostgreSQL inside the pinned PGlite: its files do not open with another one. */
const FORMAT = '18'

/** Whether the folder holds an embedded store. Throws StartRefusal when another format wrote it. */
export async function checkFormat(folder: string): Promise<boolean> {
  const found = (await readIfThere(join(folder, 'PG_VERSION')))?.trim()
  if (found === undefined) return false
  if (found !== FORMAT) {
    throw new StartRefusal(
      `the store in ${folder} has format ${found} and this version reads format ${FORMAT}: ` +
        `run "${PRODUCT} export" with the version that wrote it, then "${PRODUCT} apply" with this one on a new data directory`
    )
  }
  return true
}
