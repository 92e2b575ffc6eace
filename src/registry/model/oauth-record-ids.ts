import { createHash } from 'node:crypto'

/** SHA-256 of an id, under which it is stored. */
export const hashId = (id: string): Buffer => createHash('sha256').update(id).digest()

/** Id of the row of a record. */
export const rowId = (model: string, id: string) => `${model}:${hashId(id).toString('hex')}`
/** Place to which the contents of a row are bound. */
export const locationOf = (row: string) => ({ table: 'oauth_records', row, column: 'sealed' })
