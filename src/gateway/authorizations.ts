import { createRedactor } from '../domain/redaction.ts'
import { AppError } from '../errors.ts'
import type { Granted, StoredServer, StoredTokens } from '../registry/model.ts'
import type { TokenClaim, TokenStore } from '../registry/upstream-tokens.ts'
import type { Catalog } from './catalog.ts'
import type { Authorization } from './upstream/authorization.ts'
import { redactFailure, UpstreamFailure } from './upstream/failure.ts'
import type { OAuthHttpFor } from './upstream/oauth-http.ts'
import { OAuthRefusal, refreshGrant } from './upstream/oauth-token.ts'

export interface AuthorizationsOptions {
  readonly store: TokenStore
  readonly http: OAuthHttpFor
  readonly log: { warn(details: object, text: string): void }
}

/** The access tokens of the servers that were signed in to; one object for each server, shared by its connections. */
export interface Authorizations {
  of(server: Pick<StoredServer, 'id' | 'name' | 'revision'>): Authorization
  /** Forgets those of servers that are gone; where a server was changed its tokens are read again. */
  keep(catalog: Catalog): void
}

/** A token is renewed so long before it expires, but not in the first half of its life. */
const EARLY_MS = 30_000
/** After a renewal that came to nothing, or whose token was refused. */
const PAUSE_MS = 5_000
/** For the replica that renews a token: longer than its request may take. */
const WAIT_MS = 15_000
const POLL_MS = 100
const STORE_ATTEMPTS = 4
const STORE_PAUSE_MS = 500

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const endedFailure = (why: string) => new UpstreamFailure('auth', `the authorization has ended (${why}): sign in again`)
const isInvalidGrant = (error: unknown): error is OAuthRefusal =>
  error instanceof OAuthRefusal && error.error === 'invalid_grant'

/** What the store could not do, as a call may fail with it. */
function toFailure(error: unknown): unknown {
  return error instanceof AppError ? new UpstreamFailure('overloaded', error.message, { cause: error }) : error
}

function createAuthorization(server: Pick<StoredServer, 'id' | 'name'>, options: AuthorizationsOptions) {
  const { store, http, log } = options
  let current: StoredTokens | null = null
  let value: string | undefined
  let redact = (text: string) => text
  let before: readonly string[] = []
  let known: readonly string[] = []
  /** Times of `performance.now()`. */
  let freshUntil = 0
  let expiresAt = Infinity
  let isStale = false
  let pause: { readonly until: number; readonly failure: UpstreamFailure } | null = null
  let running: Promise<void> | null = null

  const take = (stored: StoredTokens) => {
    const { tokens, problem, leftMs, lifetimeMs } = stored
    const { access, refresh, source } = tokens
    const secrets = [access, refresh ?? '', source.client.secret ?? '']
    if (current?.tokens.access !== access) pause = null
    known = [...secrets, ...before]
    redact = createRedactor(known)
    before = secrets
    current = stored
    isStale = false
    value = `Bearer ${access}`
    expiresAt = leftMs === null ? Infinity : performance.now() + leftMs
    const early = Math.min(EARLY_MS, (lifetimeMs ?? 0) / 2)
    freshUntil = problem !== null ? 0 : refresh === undefined ? Infinity : expiresAt - early
  }
  const load = async (): Promise<StoredTokens> => {
    const stored = await store.read(server.id)
    if (!stored) throw endedFailure('there is no token')
    take(stored)
    return stored
  }

  /** The old refresh token may be void by now: losing the new one would end the authorization. */
  const persist = async (claim: TokenClaim, granted: Granted) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await claim.renewed(granted)
      } catch (error) {
        if (attempt === STORE_ATTEMPTS) throw error
        await delay(attempt * STORE_PAUSE_MS)
      }
    }
  }
  /** What the replica that has the claim does with it. */
  const renewClaimed = async (claim: TokenClaim) => {
    const { access, refresh = '', source } = claim.stored.tokens
    let granted: Granted
    try {
      granted = await refreshGrant(http(source.resource), source, refresh)
    } catch (error) {
      if (isInvalidGrant(error)) return claim.failed(error.error)
      await claim.release()
      throw redactFailure(error as UpstreamFailure, createRedactor([access, refresh, source.client.secret ?? '']))
    }
    await persist(claim, granted)
  }
  /** New tokens in place of those with the access token `seen`, by this replica or by another one. */
  const renew = async (seen: string) => {
    const end = performance.now() + WAIT_MS
    while (performance.now() < end) {
      const claim = await store.claim(server.id)
      const isOurs = claim?.stored.tokens.access === seen
      if (claim) await (isOurs ? renewClaimed(claim) : claim.release())
      const { tokens, problem } = await load()
      if (problem !== null) throw endedFailure(problem)
      if (isOurs || tokens.access !== seen) return
      await delay(POLL_MS)
    }
    throw new UpstreamFailure('timeout', 'no new access token in time')
  }
  const tryRenew = async (seen: string) => {
    if (pause && performance.now() < pause.until) throw pause.failure
    try {
      await renew(seen)
    } catch (error) {
      const failure = toFailure(error)
      if (!(failure instanceof UpstreamFailure)) throw error
      pause = { until: performance.now() + PAUSE_MS, failure }
      throw failure
    }
  }

  const read = async () => {
    try {
      await load()
    } catch (error) {
      // what is known stays good while the store cannot be asked
      if (error instanceof UpstreamFailure || !current || current.problem !== null) throw toFailure(error)
    }
  }
  const ensure = async () => {
    if (!current || isStale) await read()
    const { tokens, problem } = current!
    if (problem !== null) throw endedFailure(problem)
    if (performance.now() < freshUntil) return
    try {
      await tryRenew(tokens.access)
    } catch (error) {
      if (performance.now() >= expiresAt || current!.problem !== null) throw error
      log.warn({ err: error, server: server.name }, 'an access token could not be renewed yet')
      freshUntil = Math.min(performance.now() + PAUSE_MS, expiresAt)
    }
  }
  const replaceRefused = async (refused: string | undefined) => {
    if (current && current.problem !== null) throw endedFailure(current.problem)
    if (current?.tokens.refresh === undefined) throw endedFailure('the access token was refused')
    await tryRenew(refused!.slice('Bearer '.length))
  }
  const alone = (work: () => Promise<void>): Promise<void> => {
    running ??= work().finally(() => (running = null))
    return running
  }

  const authorization: Authorization = {
    get value() {
      return value
    },
    get isFresh() {
      return performance.now() < freshUntil
    },
    freshen: () => alone(ensure),
    async replace(refused) {
      await running?.catch(() => {})
      if (value === refused) await alone(() => replaceRefused(refused))
    },
    refusedAgain() {
      const failure = endedFailure('a new access token was refused')
      pause = { until: performance.now() + PAUSE_MS, failure }
      return failure
    },
    get secrets() {
      return known
    },
    redact: (text) => redact(text)
  }
  const invalidate = () => {
    isStale = true
    freshUntil = 0
  }
  return { authorization, invalidate }
}

export function createAuthorizations(options: AuthorizationsOptions): Authorizations {
  const entries = new Map<string, ReturnType<typeof createAuthorization> & { revision: string }>()
  return {
    of(server) {
      let entry = entries.get(server.id)
      if (!entry) {
        entry = { ...createAuthorization(server, options), revision: server.revision }
        entries.set(server.id, entry)
      }
      return entry.authorization
    },
    keep({ servers }) {
      const current = new Map(servers.map(({ stored }) => [stored.id, stored]))
      for (const [id, entry] of entries) {
        const stored = current.get(id)
        if (!stored || stored.issuer === null) entries.delete(id)
        else if (stored.revision !== entry.revision) {
          entry.revision = stored.revision
          entry.invalidate()
        }
      }
    }
  }
}
