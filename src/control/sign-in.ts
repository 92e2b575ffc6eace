import { randomUUID } from 'node:crypto'
import { createRedactor } from '../domain/secrets/redaction.ts'
import { AppError, invalid, notFound } from '../lib/errors.ts'
import type {
  TokenGrantResult,
  OAuthClient,
  OAuthSession,
  PendingSignIn,
  ServerConfig
} from '../registry/model/model.ts'
import type { OAuthSessions } from '../registry/repositories/oauth-sessions.ts'
import { administrators, redactFailure, toAppError, UpstreamFailure } from '../protocol/upstream-failure.ts'
import { preregisteredClient } from '../upstream/oauth/client.ts'
import { readChallenge } from '../upstream/http/challenge.ts'
import { discover, type AuthorizationServer } from '../upstream/oauth/authorization-server.ts'
import { allowsRedirect, type ClientDocument } from '../upstream/oauth/client-document.ts'
import type { OAuthHttpFor } from '../upstream/oauth/oauth-http.ts'
import { createAuthorizationRequest } from '../upstream/oauth/authorization-request.ts'
import { exchangeCode, OAuthRefusal, registerClient } from '../upstream/oauth/token.ts'
import { printable } from '../upstream/stdio/stderr.ts'

/**
 * Answer to a registration that needs an OAuth sign-in: a person signs in at the URL, and the callback completes the
 * registration (http-contract.md#dashboard-routes).
 */
export interface AuthorizationRequired {
  readonly authorization_required: {
    readonly session_id: string
    readonly authorization_url: string
    readonly expires_at: string
  }
}

/** Authorization response at the redirect URI. Without `id`, the session is found by `state`. */
export interface AuthorizationAnswer {
  readonly id?: string
  readonly code: string
  readonly state: string
  readonly iss?: string
}

/** Authorization error response at the redirect URI. */
export interface AuthorizationRefusal {
  readonly state: string
  readonly iss?: string
  /** Error code of RFC 6749 4.1.2.1. This and `description` are untrusted texts. */
  readonly error: string
  readonly description?: string
}

export interface AuthorizationSession {
  readonly session_id: string
  readonly status: 'pending' | 'completed' | 'failed' | 'expired'
  readonly server_name: string
  readonly expires_at: string
  readonly error?: string
}

export interface SignInOptions {
  readonly sessions: OAuthSessions
  readonly http: OAuthHttpFor
  /** Undefined: the gateway registers at each authorization server. */
  readonly clientDocument: ClientDocument | undefined
  readonly sessionMs: number
  readonly retentionMs: number
  /** Called when a sign-in begins or ends. */
  readonly onChange: () => void
  readonly log: { warn(details: object, text: string): void }
}

/** Request for a sign-in. */
export interface SignInRequest {
  readonly config: ServerConfig
  readonly serverId: string | null
  readonly force: boolean
  /** `WWW-Authenticate` of the upstream's 401. */
  readonly challenge: string | undefined
  /** Issuer that the server of this name and origin is bound to; null if none. */
  readonly boundTo: string | null
}

/** Wraps the part of completing a sign-in that contacts the authorization server and the upstream. */
export type ContactRecorder = <T>(pending: PendingSignIn, work: () => Promise<T>) => Promise<T>

/**
 * OAuth sign-ins at the authorization servers of upstreams (http-contract.md#dashboard-routes,
 * http-contract.md#registration-input). Methods throw AppError.
 */
export interface SignInSessions {
  /** Starts a sign-in; undefined if the upstream publishes no OAuth metadata. */
  begin(wanted: SignInRequest): Promise<AuthorizationRequired | undefined>
  find(id: string): Promise<AuthorizationSession>
  /**
   * Validates the authorization response, consumes the sign-in session, exchanges the code for tokens and passes them
   * to `use`. Everything after the validation runs inside `contacted`.
   */
  complete<T>(
    answer: AuthorizationAnswer,
    contacted: ContactRecorder,
    use: (signedIn: PendingSignIn, granted: TokenGrantResult) => Promise<T>
  ): Promise<T>
  /** Ends a sign-in that the authorization server refused. */
  refuse(answer: AuthorizationRefusal): Promise<void>
  /** Starts removing finished sign-ins periodically. */
  start(): void
  close(): void
}

const SWEEP_MS = 60_000
/** Characters kept of `error_description` and `error` of an authorization server. */
const MAX_WORDS = 300
const MAX_CODE = 64
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const signInGone = () => new AppError(404, 'the sign-in does not exist or has ended: register the server again')

function toSession({ id, server, status, expiresAt, error }: OAuthSession): AuthorizationSession {
  const about = { session_id: id, status, server_name: server, expires_at: expiresAt }
  return error === null ? about : { ...about, error }
}

/** Error 409 for another issuer than before. The message explains how an administrator can accept it. */
function issuerChanged({ oauth_issuer: pinned }: ServerConfig, named: string): AppError {
  const issuer = JSON.stringify(printable(named, MAX_WORDS))
  const text =
    pinned === undefined
      ? `the upstream names another authorization server than before, ${issuer}: give it as "oauth_issuer" if that is right`
      : `the upstream names the authorization server ${issuer}, and "oauth_issuer" names another one`
  return new AppError(409, text, { code: 'upstream_oauth_issuer_changed' })
}

/** Returns the configured scopes, else those that the upstream asks for. */
const scopeOf = ({ oauth_scopes: own }: ServerConfig, asked: readonly string[] | undefined) =>
  (own ?? asked)?.join(' ') || undefined

/**
 * Returns the configured OAuth client, else the one of the gateway's own document if the server reads it, else registers
 * one. Rejects with a 400 AppError if none of these is possible.
 */
async function clientOf(
  { http, clientDocument }: SignInOptions,
  config: ServerConfig,
  server: AuthorizationServer,
  scope: string | undefined
): Promise<OAuthClient> {
  const { oauth_client_id: id, oauth_client_secret: secret, oauth_redirect_uri: redirectUri = '', url = '' } = config
  if (id !== undefined) return preregisteredClient(server, id, secret)
  if (clientDocument && server.readsClientDocuments && allowsRedirect(clientDocument, redirectUri))
    return { id: clientDocument.client_id, method: 'none' }
  const { registrationEndpoint } = server
  if (registrationEndpoint !== undefined) {
    return registerClient(http(url), { ...server, registrationEndpoint }, redirectUri, scope)
  }
  throw invalid('the authorization server does not support dynamic client registration: give "oauth_client_id"')
}

/** Exchanges the authorization code for tokens. Rejects with AppError, without the secrets of the exchange. */
async function exchange(
  http: OAuthHttpFor,
  { source, verifier, redirectUri, config }: PendingSignIn,
  code: string
): Promise<TokenGrantResult> {
  try {
    return await exchangeCode(http(config.url ?? ''), source, { code, verifier, redirectUri })
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error
    const shown = redactFailure(error, createRedactor([code, verifier, source.client.secret ?? '']))
    const isWrong = error instanceof OAuthRefusal && error.error === 'invalid_grant'
    throw isWrong ? invalid(shown.message) : toAppError(shown, config.name, administrators)
  }
}

export function createSignInSessions(options: SignInOptions): SignInSessions {
  const { sessions, http, sessionMs, retentionMs, onChange, log } = options
  let timer: NodeJS.Timeout | null = null

  const start = async ({ config, serverId, force, challenge, boundTo }: SignInRequest) => {
    const expected = config.oauth_issuer ?? boundTo
    const { url: upstreamUrl = '', oauth_assume_pkce: assumesPkce = false } = config
    const asked = readChallenge(challenge)
    const found = await discover(http(upstreamUrl), upstreamUrl, asked, expected, assumesPkce)
    if (!found) return undefined
    const { server, resource } = found
    // an upstream must not send the client secret or the user to another issuer (CVE-2026-104850)
    if (expected !== null && expected !== server.issuer) throw issuerChanged(config, server.issuer)
    const scope = scopeOf(config, found.scopes)
    const client = await clientOf(options, config, server, scope)
    const { issuer, tokenEndpoint, authorizationEndpoint, namesIssuer } = server
    const source = { issuer, tokenEndpoint, client, resource }
    const redirectUri = config.oauth_redirect_uri ?? ''
    const { url, state, verifier } = createAuthorizationRequest({ authorizationEndpoint, source, redirectUri, scope })
    const pending = { config, serverId, force, source, redirectUri, verifier, namesIssuer }
    const session = await sessions.create({ id: randomUUID(), state, lifetimeMs: sessionMs, pending })
    onChange()
    return {
      authorization_required: { session_id: session.id, authorization_url: url, expires_at: session.expiresAt }
    }
  }

  const findStored = async (id: string): Promise<OAuthSession> => {
    const session = UUID.test(id) ? await sessions.find(id) : undefined
    if (!session) throw notFound('sign-in', id)
    return session
  }
  /** Validates an authorization response without consuming the session: a forged response must not end a sign-in. */
  const check = async ({
    id,
    state,
    iss
  }: Omit<AuthorizationAnswer, 'code'>): Promise<{ id: string; pending: PendingSignIn }> => {
    const asked = id === undefined ? undefined : await findStored(id)
    if (asked && asked.status !== 'pending') throw signInGone()
    const session = await sessions.findByState(state)
    if (!session || (asked && asked.id !== session.id)) throw invalid('"state" does not match this sign-in')
    const pending = await sessions.getPending(session.id)
    if (!pending) throw signInGone()
    if (iss === undefined ? pending.namesIssuer : iss !== pending.source.issuer) {
      throw invalid('"iss" does not name the authorization server of this sign-in: its response is not used')
    }
    return { id: session.id, pending }
  }
  /** Stores the outcome. A failure is only logged, because a consumed session cannot be consumed again. */
  const finish = async (id: string, status: 'completed' | 'failed', error?: string) => {
    try {
      await sessions.finish(id, status, error)
      onChange()
    } catch (err) {
      log.warn({ err }, 'the outcome of a sign-in could not be stored')
    }
  }
  const sweep = async () => {
    try {
      await sessions.deleteExpired(retentionMs)
    } catch (err) {
      log.warn({ err }, 'ended sign-ins could not be removed')
    }
  }

  return {
    async begin(wanted) {
      try {
        return await start(wanted)
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error
        const { name, oauth_client_secret: secret = '' } = wanted.config
        throw toAppError(redactFailure(error, createRedactor([secret])), name, administrators)
      }
    },
    find: async (id) => toSession(await findStored(id)),
    async complete(answer, contacted, use) {
      const { id, pending: checked } = await check(answer)
      return contacted(checked, async () => {
        const pending = await sessions.takePending(id)
        if (!pending) throw signInGone()
        try {
          const result = await use(pending, await exchange(http, pending, answer.code))
          await finish(id, 'completed')
          return result
        } catch (error) {
          await finish(id, 'failed', error instanceof AppError ? error.message : 'internal server error')
          throw error
        }
      })
    },
    async refuse({ error, description = '', ...answer }) {
      const { id } = await check(answer)
      if (!(await sessions.takePending(id))) throw signInGone()
      const words = printable(description, MAX_WORDS)
      const code = printable(error, MAX_CODE)
      await finish(id, 'failed', words === '' ? `the sign-in was refused (${code})` : `${words} (${code})`)
    },
    start() {
      timer = setInterval(() => void sweep(), Math.min(SWEEP_MS, retentionMs)).unref()
    },
    close() {
      if (timer) clearInterval(timer)
    }
  }
}
