import { timingSafeEqual } from 'node:crypto'
import { allServers, parseAllowList } from '../domain/policy/allow-list.ts'
import type { StoredPrincipal, StoredToken } from '../registry/model/model.ts'
import type { Catalog, Credential, Principal } from './catalog.ts'
import type { Caller } from './caller.ts'

/**
 * Returns the caller that authenticates with a token. Users may use every server; over MCP only with a token of that
 * scope (http-contract.md#roles).
 */
function callerFor(stored: StoredPrincipal, token: StoredToken): Caller {
  const { kind, id, name } = stored
  if (stored.kind === 'client') {
    const allowed = parseAllowList(stored.allowed_servers)
    return { kind, name, key: `client:${id}`, allowed, tokenHash: token.hash, tokenId: token.id }
  }
  // what was opened with a personal token ends with that token
  const key = token.kind === 'personal' ? `user:${id}/${token.id}` : `user:${id}`
  const scopes = token.scopes ?? undefined
  return { kind, name, key, allowed: allServers, tokenHash: token.hash, tokenId: token.id, scopes }
}

/** Creates a principal with its credentials; a suspended user has none. */
export function createPrincipal(stored: StoredPrincipal): Principal {
  const isActive = stored.kind === 'client' || stored.active
  const tokens = isActive ? stored.tokens : []
  const credentials = tokens.map((token) => ({ caller: callerFor(stored, token), expiresAt: token.expiresAt }))
  return { stored, credentials }
}

/** Map key of a hash: one character per byte. */
const keyOf = (hash: Uint8Array) => Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1')

const isSameToken = (a: Uint8Array, b: Uint8Array) => Buffer.from(a).equals(b)

const hasExpired = ({ expiresAt }: Credential, now: number) => expiresAt !== null && expiresAt <= now

type PrincipalIndex = Pick<Catalog, 'credentials' | 'caller' | 'currentCaller' | 'nextExpiry'>

/**
 * Indexes principals by token hash and by key. Tokens that have expired are left out; those that expire later are
 * checked at each look-up. The map look-up may leak by its timing how much of a hash matched, but a caller cannot choose
 * the hash of a token.
 */
function indexPrincipals(all: readonly Principal[], now = Date.now()): PrincipalIndex {
  const byHash = new Map<string, Credential>()
  const byKey = new Map<string, Credential>()
  let nextExpiry = Infinity
  for (const { credentials } of all) {
    for (const credential of credentials) {
      if (hasExpired(credential, now)) continue
      const { caller, expiresAt } = credential
      byHash.set(keyOf(caller.tokenHash!), credential)
      byKey.set(caller.key, credential)
      if (expiresAt !== null && expiresAt < nextExpiry) nextExpiry = expiresAt
    }
  }
  return {
    credentials: byKey,
    nextExpiry: nextExpiry === Infinity ? undefined : nextExpiry,
    caller(tokenHash) {
      const found = byHash.get(keyOf(tokenHash))
      if (!found || !timingSafeEqual(found.caller.tokenHash!, tokenHash)) return undefined
      return hasExpired(found, Date.now()) ? undefined : found.caller
    },
    currentCaller(given) {
      const current = byKey.get(given.key)
      if (!current || hasExpired(current, Date.now())) return undefined
      const { caller } = current
      if (caller === given) return caller
      const isSame = caller.kind === given.kind && given.tokenHash && isSameToken(given.tokenHash, caller.tokenHash!)
      return isSame ? caller : undefined
    }
  }
}

/** Indexes the principals of each catalog; while none of them changes and no token expires the index stays the same. */
export function createPrincipalIndexer(): (all: readonly Principal[]) => PrincipalIndex {
  let indexed: readonly Principal[] = []
  let index = indexPrincipals(indexed)
  return (all) => {
    const hasExpiry = index.nextExpiry !== undefined && index.nextExpiry <= Date.now()
    const isSame = !hasExpiry && all.length === indexed.length && all.every((each, i) => each === indexed[i])
    if (!isSame) {
      indexed = all
      index = indexPrincipals(all)
    }
    return index
  }
}
