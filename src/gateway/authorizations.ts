import { createRedactor } from '../domain/redaction.ts'
import { AppError } from '../errors.ts'
import type { TokenGrantResult, StoredServer, StoredTokens } from '../registry/model.ts'
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

/** OAuth access tokens of upstream servers: one object per server, shared by all connections to the server. */
export interface Authorizations {
  of(server: Pick<StoredServer, 'id' | 'name' | 'revision'>): Authorization
  /** Forgets the tokens of removed servers, and reloads the tokens of changed servers before their next use. */
  prune(catalog: Catalog): void
}

/** Time before expiry at which a token is renewed, but never in the first half of its lifetime. */
const EARLY_MS = 30_000
/** Time before the next attempt after a failed renewal, or after an upstream refused a new token. */
const PAUSE_MS = 5_000
/** Time to wait for the replica that renews a token: longer than the limit of its token request. */
const WAIT_MS = 15_000
const POLL_MS = 100
const STORE_ATTEMPTS = 4
const STORE_PAUSE_MS = 500

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const endedFailure = (why: string) => new UpstreamFailure('auth', `the authorization has ended (${why}): sign in again`)
const isInvalidGrant = (error: unknown): error is OAuthRefusal =>
  error instanceof OAuthRefusal && error.error === 'invalid_grant'

/** Converts an error of the token store to the failure that a call reports. */
function toFailure(error: unknown): unknown {
  return error instanceof AppError ? new UpstreamFailure('overloaded', error.message, { cause: error }) : error
}

function createAuthorization(server: Pick<StoredServer, 'id' | 'name'>, options: AuthorizationsOptions) {
  const { store, http, log } = options
  let current: StoredTokens | null = null
  let value: string | undefined
  let redact = (text: string) => text
  let previousSecrets: readonly string[] = []
  let secrets: readonly string[] = []
  // `freshUntil` and `expiresAt` are times of `performance.now()`
  let freshUntil = 0
  let expiresAt = Infinity
  let isStale = false
  let pause: { readonly until: number; readonly failure: UpstreamFailure } | null = null
  let inFlight: Promise<void> | null = null

  const use = (stored: StoredTokens) => {
    const { tokens, problem, leftMs, lifetimeMs } = stored
    const { access, refresh, source } = tokens
    const currentSecrets = [access, refresh ?? '', source.client.secret ?? '']
    if (current?.tokens.access !== access) pause = null
    secrets = [...currentSecrets, ...previousSecrets]
    redact = createRedactor(secrets)
    previousSecrets = currentSecrets
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
    use(stored)
    return stored
  }

  /** Retries, since the old refresh token may already be void: losing the new one would end the authorization. */
  const persist = async (claim: TokenClaim, granted: TokenGrantResult) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await claim.storeRenewed(granted)
      } catch (error) {
        if (attempt === STORE_ATTEMPTS) throw error
        await delay(attempt * STORE_PAUSE_MS)
      }
    }
  }
  /** Requests new tokens on the replica that holds the claim, and stores them. */
  const renewClaimed = async (claim: TokenClaim) => {
    const { access, refresh = '', source } = claim.current.tokens
    let granted: TokenGrantResult
    try {
      granted = await refreshGrant(http(source.resource), source, refresh)
    } catch (error) {
      if (isInvalidGrant(error)) return claim.recordProblem(error.error)
      await claim.release()
      throw redactFailure(error as UpstreamFailure, createRedactor([access, refresh, source.client.secret ?? '']))
    }
    await persist(claim, granted)
  }
  /** Replaces the tokens with the access token `stale`, or waits until another replica has replaced them. */
  const renew = async (stale: string) => {
    const end = performance.now() + WAIT_MS
    while (performance.now() < end) {
      const claim = await store.tryClaim(server.id)
      const isOurs = claim?.current.tokens.access === stale
      if (claim) await (isOurs ? renewClaimed(claim) : claim.release())
      const { tokens, problem } = await load()
      if (problem !== null) throw endedFailure(problem)
      if (isOurs || tokens.access !== stale) return
      await delay(POLL_MS)
    }
    throw new UpstreamFailure('timeout', 'no new access token in time')
  }
  const tryRenew = async (stale: string) => {
    if (pause && performance.now() < pause.until) throw pause.failure
    try {
      await renew(stale)
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
      // the tokens in memory stay valid while the store is unreachable
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
  /** Runs one renewal at a time: concurrent callers share its promise. */
  const runOnce = (work: () => Promise<void>): Promise<void> => {
    inFlight ??= work().finally(() => (inFlight = null))
    return inFlight
  }

  const authorization: Authorization = {
    get value() {
      return value
    },
    get isFresh() {
      return performance.now() < freshUntil
    },
    renew: () => runOnce(ensure),
    async replace(refused) {
      await inFlight?.catch(() => {})
      if (value === refused) await runOnce(() => replaceRefused(refused))
    },
    markRejected() {
      const failure = endedFailure('a new access token was refused')
      pause = { until: performance.now() + PAUSE_MS, failure }
      return failure
    },
    get secrets() {
      return secrets
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
    prune({ servers }) {
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
