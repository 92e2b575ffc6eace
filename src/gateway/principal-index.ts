import { timingSafeEqual } from 'node:crypto'
import { allServers, parseAllowList } from '../domain/allow-list.ts'
import type { StoredPrincipal } from '../registry/model.ts'
import type { Catalog, Principal } from './catalog.ts'
import type { Caller } from './caller.ts'

/** Administrators and users may use every server, though not over MCP (http-contract.md#roles). */
function callerFor(stored: StoredPrincipal): Caller {
  const { kind, id, name } = stored
  if (stored.kind === 'client') {
    return { kind, name, key: `client:${id}`, allowed: parseAllowList(stored.allowed_servers) }
  }
  return { kind, name, key: `user:${id}`, allowed: allServers, tokenHash: stored.tokenHash }
}

/** Whom a caller was made for. */
const madeFor = new WeakMap<Caller, StoredPrincipal>()
const principals = new WeakMap<StoredPrincipal, Principal>()

/** Whoever has this access token; the same object for the same revision. */
export function principalOf(stored: StoredPrincipal): Principal {
  const known = principals.get(stored)
  if (known) return known
  const principal = { stored, caller: callerFor(stored) }
  principals.set(stored, principal)
  madeFor.set(principal.caller, stored)
  return principal
}

/** Bytes as a key of a map, one character each. */
const keyOf = (hash: Uint8Array) => Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1')

const isSameToken = (a: Uint8Array, b: Uint8Array) => Buffer.from(a).equals(b)

/** Look-ups of those who have tokens. What tells how far a guess was right is the hash, which nobody can choose. */
export function indexPrincipals(all: readonly Principal[]): Pick<Catalog, 'principal' | 'currentPrincipal'> {
  const byHash = new Map(all.map((each) => [keyOf(each.stored.tokenHash), each]))
  const byKey = new Map(all.map((each) => [each.caller.key, each]))
  return {
    principal(tokenHash) {
      const found = byHash.get(keyOf(tokenHash))
      return found && timingSafeEqual(found.stored.tokenHash, tokenHash) ? found : undefined
    },
    currentPrincipal(caller) {
      const now = byKey.get(caller.key)
      if (!now || now.caller === caller) return now
      const before = madeFor.get(caller)
      return before && isSameToken(before.tokenHash, now.stored.tokenHash) ? now : undefined
    }
  }
}
