import { timingSafeEqual } from 'node:crypto'
import { credentialsDigest } from '../domain/access/client-credentials.ts'
import { allServers, parseAllowList } from '../domain/policy/allow-list.ts'
import type { Permit } from '../domain/policy/permit.ts'
import type { SignIn, StoredClient, StoredPrincipal, StoredToken } from '../registry/model/model.ts'
import type { Catalog, Credential, Principal } from './catalog.ts'
import type { Caller } from './caller.ts'
import type { SignedIn } from './people.ts'

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
const keys = new WeakMap<Uint8Array, string>()

/** The requests of a connection come with the same hash, so its text is made once. */
function keyOf(hash: Uint8Array): string {
  const known = keys.get(hash)
  if (known !== undefined) return known
  const key = Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1')
  keys.set(hash, key)
  return key
}

const isSameToken = (a: Uint8Array, b: Uint8Array) => Buffer.from(a).equals(b)

const hasExpired = ({ expiresAt }: Credential, now: number) => expiresAt !== null && expiresAt <= now

/** MCP clients that authenticate with tokens of the authorization server, which they get as themselves. */
interface ClientIndex {
  byName(name: string): StoredClient | undefined
  /** Returns the caller of a token; undefined if the client was removed, or its own token or keys were replaced since. */
  callerOf(signedIn: SignedIn): Caller | undefined
  /** Returns the caller with its current allow list. */
  current(given: Caller): Caller | undefined
}

function indexClients(all: readonly Principal[]): ClientIndex {
  const byId = new Map<
    string,
    { readonly stored: StoredClient; readonly allowed: Permit; digest: Buffer | undefined }
  >()
  const byName = new Map<string, StoredClient>()
  for (const { stored, credentials } of all) {
    const [credential] = credentials
    if (stored.kind !== 'client' || !credential) continue
    byId.set(stored.id, { stored, allowed: credential.caller.allowed, digest: undefined })
    byName.set(stored.name, stored)
  }
  const find = ({ principalId, credential }: SignIn) => {
    const found = byId.get(principalId)
    if (!found) return undefined
    found.digest ??= credentialsDigest(found.stored)
    return found.digest.equals(credential) ? found : undefined
  }
  const callers = new WeakMap<SignIn, Caller>()
  return {
    byName: (name) => byName.get(name),
    callerOf({ signIn }) {
      const found = find(signIn)
      if (!found) return undefined
      let caller = callers.get(signIn)
      if (!caller) {
        const { stored, allowed } = found
        const { id, name } = stored
        // what was opened with such a token ends with it, and not with the client's own token
        caller = { kind: 'client', name, key: `client:${id}/oauth`, allowed, signIn }
        callers.set(signIn, caller)
      }
      return caller
    },
    current(given) {
      const found = find(given.signIn!)
      if (!found || given.kind !== 'client') return undefined
      return given.allowed === found.allowed ? given : { ...given, allowed: found.allowed }
    }
  }
}

interface PrincipalIndex extends Pick<Catalog, 'credentials' | 'caller' | 'currentCaller' | 'nextExpiry'> {
  readonly clients: ClientIndex
}

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
    clients: indexClients(all),
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
