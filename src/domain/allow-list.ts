import { createHash } from 'node:crypto'

/** Servers that a caller may use, by exact name */
export interface AllowList {
  readonly isAll: boolean
  /** Empty if all servers are allowed */
  readonly names: ReadonlySet<string>
  /** Short key, equal for lists that allow the same servers */
  readonly contentHash: string
}

export const allServers: AllowList = { isAll: true, names: new Set(), contentHash: '*' }
export const noServers: AllowList = { isAll: false, names: new Set(), contentHash: '' }

const digest = (names: readonly string[]) => createHash('sha256').update(JSON.stringify(names)).digest('base64url')

/** Parses an allow list. `*` allows every server only as an entry of its own (http-contract.md#clients-and-users). */
export function parseAllowList(entries: readonly string[]): AllowList {
  if (entries.includes('*')) return allServers
  const names = [...new Set(entries)].sort()
  return names.length === 0 ? noServers : { isAll: false, names: new Set(names), contentHash: digest(names) }
}

export const allows = ({ isAll, names }: AllowList, server: string): boolean => isAll || names.has(server)
