import { timingSafeEqual } from 'node:crypto'
import { allServers, parseAllowList } from '../domain/allow-list.ts'
import type { StoredPrincipal } from '../registry/model/model.ts'
import type { Catalog, Principal } from './catalog.ts'
import type { Caller } from './caller.ts'

/**
 * Returns the caller of a principal. Administrators and users may use every server, but not over MCP
 * (http-contract.md#roles).
 */
function callerFor(stored: StoredPrincipal): Caller {
  const { kind, id, name, tokenHash } = stored
  if (stored.kind === 'client') {
    return { kind, name, key: `client:${id}`, allowed: parseAllowList(stored.allowed_servers), tokenHash }
  }
  return { kind, name, key: `user:${id}`, allowed: allServers, tokenHash }
}

export const createPrincipal = (stored: StoredPrincipal): Principal => ({ stored, caller: callerFor(stored) })

/** Map key of a hash: one character per byte. */
const keyOf = (hash: Uint8Array) => Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1')

const isSameToken = (a: Uint8Array, b: Uint8Array) => Buffer.from(a).equals(b)

/**
 * Indexes principals by token hash and by caller. The map look-up may leak by its timing how much of a hash matched,
 * but a caller cannot choose the hash of a token.
 */
export function indexPrincipals(all: readonly Principal[]): Pick<Catalog, 'principal' | 'currentPrincipal'> {
  const byHash = new Map(all.map((each) => [keyOf(each.stored.tokenHash), each]))
  const byKey = new Map(all.map((each) => [each.caller.key, each]))
  return {
    principal(tokenHash) {
      const found = byHash.get(keyOf(tokenHash))
      return found && timingSafeEqual(found.stored.tokenHash, tokenHash) ? found : undefined
    },
    currentPrincipal(caller) {
      const current = byKey.get(caller.key)
      if (!current || current.caller === caller) return current
      return caller.tokenHash && isSameToken(caller.tokenHash, current.stored.tokenHash) ? current : undefined
    }
  }
}
