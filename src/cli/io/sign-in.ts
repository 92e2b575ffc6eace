import type { Static } from '@sinclair/typebox'
import type { AuthorizationRequired, Server } from '../../schemas/server.ts'
import type { ApiResponse } from './api.ts'
import { openBrowser } from './browser.ts'
import { listenForCallback } from './callback.ts'
import type { Cli } from './cli.ts'
import { EXIT, Failure } from './failure.ts'

type ServerRecord = Static<typeof Server>
/** Response to a request that goes on once somebody has signed in. */
export type PendingSignIn = Static<typeof AuthorizationRequired>

/** Response to a registration. */
export type RegistrationResponse = ApiResponse<ServerRecord | PendingSignIn>

export const isPending = (body: ServerRecord | PendingSignIn): body is PendingSignIn => 'authorization_required' in body

/** Validates the authorization URL before a browser opens it: only http and https. */
function pageUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && ['https:', 'http:'].includes(url.protocol)) return url
  throw new Failure(EXIT.failed, 'the sign-in URL of the server is not an http:// or https:// URL')
}

export const needsSignIn = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'upstream_oauth_required'

/**
 * Registers a server that requires a sign-in: `send` receives the redirect URI for the request, the browser goes to the
 * upstream's authorization server and back to this process, and the gateway completes the sign-in.
 */
export async function registerWithSignIn(
  cli: Cli,
  isOpened: boolean,
  send: (redirectUri: string) => Promise<RegistrationResponse>
): Promise<RegistrationResponse> {
  const callback = await listenForCallback()
  try {
    const answer = await send(callback.redirectUri)
    if (!isPending(answer.body)) return answer
    const { session_id: id, authorization_url, expires_at } = answer.body.authorization_required
    const url = pageUrl(authorization_url)
    const returned = callback.waitForResponse(stateOf(url), AbortSignal.timeout(timeLeft(expires_at)))
    // it may reject while the browser starts
    returned.catch(() => {})
    await showSignInUrl(cli, url.href, isOpened)
    return await cli.api.post<ServerRecord>(
      `/api/v0/upstream_oauth/sessions/${encodeURIComponent(id)}/complete`,
      await returned
    )
  } finally {
    callback.close()
  }
}

function stateOf(url: URL): string {
  const state = url.searchParams.get('state')
  if (!state) throw new Failure(EXIT.failed, 'the sign-in URL has no "state"')
  return state
}

/** At least a minute and at most an hour, as the gateway's clock may differ; the gateway enforces the expiry. */
const timeLeft = (expiresAt: string) => Math.min(Math.max(60_000, Date.parse(expiresAt) - Date.now() || 0), 3_600_000)

/** Shows the URL even with `-q`, without which the command would wait for nothing. */
async function showSignInUrl(cli: Cli, url: string, isOpened: boolean): Promise<void> {
  const hasBrowser = isOpened && (await openBrowser(cli.io, url))
  cli.announce(
    `${hasBrowser ? 'opening a browser to sign in; if it does not open, visit:' : 'sign in here:'}\n  ${url}`
  )
}
