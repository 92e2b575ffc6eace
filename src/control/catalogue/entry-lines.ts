import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { CatalogueEntry } from '../../domain/catalogue/entry.ts'

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** Limit of stored entries, past which they are damaged: `readRegistry` accepts less. */
const MAX_BYTES = 268_435_456

/** Converts entries to the form in which they are stored: gzip of one JSON text per line. */
export const packEntries = (entries: readonly CatalogueEntry[]): Promise<Buffer> =>
  compress(entries.map((entry) => JSON.stringify(entry)).join('\n'))

/** Returns the JSON texts of stored entries. */
export async function unpackLines(packed: Uint8Array): Promise<string[]> {
  const text = (await decompress(packed, { maxOutputLength: MAX_BYTES })).toString()
  return text === '' ? [] : text.split('\n')
}
