import { createHash } from 'node:crypto'
import { allowedByDefault, refusedByDefault, type Permit } from './permit.ts'

/** Permit for all items of these servers. `names`: their exact names. */
const permitFor = (names: ReadonlySet<string>, contentHash: string): Permit => ({
  isAll: false,
  contentHash,
  reach: (server) => (names.has(server) ? 'all' : 'none'),
  decide: ({ server }) => (names.has(server.name) ? allowedByDefault : refusedByDefault)
})

export const allServers: Permit = {
  isAll: true,
  contentHash: '*',
  reach: () => 'all',
  decide: () => allowedByDefault
}
export const noServers: Permit = permitFor(new Set(), 'none')

const digest = (names: readonly string[]) => createHash('sha256').update(JSON.stringify(names)).digest('base64url')

/**
 * Returns the permit of an allow list. `*` allows every server only as an entry of its own
 * (http-contract.md#clients-and-users).
 */
export function parseAllowList(entries: readonly string[]): Permit {
  if (entries.includes('*')) return allServers
  const names = [...new Set(entries)].sort()
  return names.length === 0 ? noServers : permitFor(new Set(names), digest(names))
}
