import { createRedactor } from '../../domain/secrets/redaction.ts'
import { AppError } from '../../lib/errors.ts'
import type { TokenGrantResult, StoredServer, StoredTokens } from '../../registry/model/model.ts'
import type { TokenClaim, TokenStore } from '../../registry/repositories/upstream-tokens.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Authorization } from '../transport/authorization.ts'
import { redactFailure, UpstreamFailure } from '../../protocol/upstream-failure.ts'
import type { OAuthHttpFor } from './oauth-http.ts'
import { OAuthRefusal, refreshGrant } from './token.ts'

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
/** Polled, because the database sends no event when another replica stores new tokens. */
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

/** The tokens of one server, with their renewal. */
class ServerAuthorization implements Authorization {
  value: string | undefined
  secrets: readonly string[] = []
  readonly #server: Pick<StoredServer, 'id' | 'name'>
  readonly #options: AuthorizationsOptions
  #current: StoredTokens | null = null
  #redact = (text: string) => text
  #previousSecrets: readonly string[] = []
  // `#freshUntil` and `#expiresAt` are times of `performance.now()`
  #freshUntil = 0
  #expiresAt = Infinity
  #isStale = false
  #pause: { readonly until: number; readonly failure: UpstreamFailure } | null = null
  #inFlight: Promise<void> | null = null

  constructor(server: Pick<StoredServer, 'id' | 'name'>, options: AuthorizationsOptions) {
    this.#server = server
    this.#options = options
  }

  get isFresh(): boolean {
    return performance.now() < this.#freshUntil
  }

  renew(): Promise<void> {
    return this.#runOnce(() => this.#ensure())
  }

  async replace(refused: string | undefined): Promise<void> {
    await this.#inFlight?.catch(() => {})
    if (this.value === refused) await this.#runOnce(() => this.#replaceRefused(refused))
  }

  markRejected(): UpstreamFailure {
    const failure = endedFailure('a new access token was refused')
    this.#pause = { until: performance.now() + PAUSE_MS, failure }
    return failure
  }

  redact(text: string): string {
    return this.#redact(text)
  }

  /** Makes the next use load the tokens again. */
  invalidate(): void {
    this.#isStale = true
    this.#freshUntil = 0
  }

  /** Runs one renewal at a time: concurrent callers share its promise. */
  #runOnce(work: () => Promise<void>): Promise<void> {
    this.#inFlight ??= work().finally(() => (this.#inFlight = null))
    return this.#inFlight
  }

  async #ensure(): Promise<void> {
    if (!this.#current || this.#isStale) await this.#read()
    const { tokens, problem } = this.#current!
    if (problem !== null) throw endedFailure(problem)
    if (performance.now() < this.#freshUntil) return
    try {
      await this.#tryRenew(tokens.access)
    } catch (error) {
      if (performance.now() >= this.#expiresAt || this.#current!.problem !== null) throw error
      this.#options.log.warn({ err: error, server: this.#server.name }, 'an access token could not be renewed yet')
      this.#freshUntil = Math.min(performance.now() + PAUSE_MS, this.#expiresAt)
    }
  }

  async #replaceRefused(refused: string | undefined): Promise<void> {
    if (this.#current && this.#current.problem !== null) throw endedFailure(this.#current.problem)
    if (this.#current?.tokens.refresh === undefined) throw endedFailure('the access token was refused')
    await this.#tryRenew(refused!.slice('Bearer '.length))
  }

  async #tryRenew(stale: string): Promise<void> {
    if (this.#pause && performance.now() < this.#pause.until) throw this.#pause.failure
    try {
      await this.#renew(stale)
    } catch (error) {
      const failure = toFailure(error)
      if (!(failure instanceof UpstreamFailure)) throw error
      this.#pause = { until: performance.now() + PAUSE_MS, failure }
      throw failure
    }
  }

  /** Replaces the tokens with the access token `stale`, or waits until another replica has replaced them. */
  async #renew(stale: string): Promise<void> {
    const end = performance.now() + WAIT_MS
    while (performance.now() < end) {
      const claim = await this.#options.store.tryClaim(this.#server.id)
      const isOurs = claim?.current.tokens.access === stale
      if (claim) await (isOurs ? renewClaimed(claim, this.#options.http) : claim.release())
      const { tokens, problem } = await this.#load()
      if (problem !== null) throw endedFailure(problem)
      if (isOurs || tokens.access !== stale) return
      await delay(POLL_MS)
    }
    throw new UpstreamFailure('timeout', 'no new access token in time')
  }

  async #read(): Promise<void> {
    try {
      await this.#load()
    } catch (error) {
      // the tokens in memory stay valid while the store is unreachable
      if (error instanceof UpstreamFailure || !this.#current || this.#current.problem !== null) throw toFailure(error)
    }
  }

  async #load(): Promise<StoredTokens> {
    const stored = await this.#options.store.read(this.#server.id)
    if (!stored) throw endedFailure('there is no token')
    this.#use(stored)
    return stored
  }

  #use(stored: StoredTokens): void {
    const { tokens, problem, leftMs, lifetimeMs } = stored
    const { access, refresh, source } = tokens
    const currentSecrets = [access, refresh ?? '', source.client.secret ?? '']
    if (this.#current?.tokens.access !== access) this.#pause = null
    this.secrets = [...currentSecrets, ...this.#previousSecrets]
    this.#redact = createRedactor(this.secrets)
    this.#previousSecrets = currentSecrets
    this.#current = stored
    this.#isStale = false
    this.value = `Bearer ${access}`
    this.#expiresAt = leftMs === null ? Infinity : performance.now() + leftMs
    const early = Math.min(EARLY_MS, (lifetimeMs ?? 0) / 2)
    this.#freshUntil = problem !== null ? 0 : refresh === undefined ? Infinity : this.#expiresAt - early
  }
}

/** Requests new tokens on the replica that holds the claim, and stores them. */
async function renewClaimed(claim: TokenClaim, http: OAuthHttpFor): Promise<void> {
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

/** Retries, since the old refresh token may already be void: losing the new one would end the authorization. */
async function persist(claim: TokenClaim, granted: TokenGrantResult): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await claim.storeRenewed(granted)
      return
    } catch (error) {
      if (attempt === STORE_ATTEMPTS) throw error
      await delay(attempt * STORE_PAUSE_MS)
    }
  }
}

export function createAuthorizations(options: AuthorizationsOptions): Authorizations {
  const entries = new Map<string, { readonly authorization: ServerAuthorization; revision: string }>()
  return {
    of(server) {
      let entry = entries.get(server.id)
      if (!entry) {
        entry = { authorization: new ServerAuthorization(server, options), revision: server.revision }
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
          entry.authorization.invalidate()
        }
      }
    }
  }
}
