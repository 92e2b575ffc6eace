import type { Static } from '@sinclair/typebox'
import type { AuthorizationRequired, Server } from '../schemas/server.ts'
import type { Answer } from './api.ts'
import { openBrowser } from './browser.ts'
import { listenForCallback } from './callback.ts'
import type { Cli } from './cli.ts'
import { EXIT, Failure } from './failure.ts'

type Registered = Static<typeof Server>
type Pending = Static<typeof AuthorizationRequired>

/** What a registration is answered with. */
export type Registration = Answer<Registered | Pending>

export const isPending = (body: Registered | Pending): body is Pending => 'authorization_required' in body

/** It goes to a browser, or to a person who opens it: it must be a page, whatever an upstream says. */
function pageUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && ['https:', 'http:'].includes(url.protocol)) return url
  throw new Failure(EXIT.failed, 'the sign-in page of the upstream has no http:// or https:// URL')
}

export const needsSignIn = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'upstream_oauth_required'

/**
 * Registers what needs a sign-in at the upstream: `send` is given the redirect URI that the request is to name, the
 * browser goes to the upstream and back to this process, and the gateway completes what it began (ux.md 5.3).
 */
export async function registerBySigningIn(
  cli: Cli,
  isOpened: boolean,
  send: (redirectUri: string) => Promise<Registration>
): Promise<Registration> {
  const callback = await listenForCallback()
  try {
    const answer = await send(callback.redirectUri)
    if (!isPending(answer.body)) return answer
    const { session_id: id, authorization_url, expires_at } = answer.body.authorization_required
    const url = pageUrl(authorization_url)
    const returned = callback.returned(stateOf(url), AbortSignal.timeout(timeLeft(expires_at)))
    // it can fail while the browser is being started
    returned.catch(() => {})
    await invite(cli, url.href, isOpened)
    return await cli.api.post<Registered>(
      `/api/v0/upstream_oauth/sessions/${encodeURIComponent(id)}/complete`,
      await returned
    )
  } finally {
    callback.close()
  }
}

function stateOf(url: URL): string {
  const state = url.searchParams.get('state')
  if (!state) throw new Failure(EXIT.failed, 'the gateway names no "state" for the sign-in')
  return state
}

/** The gateway's clock may be ahead of ours: it says itself when it is too late. */
const timeLeft = (expiresAt: string) => Math.max(60_000, Date.parse(expiresAt) - Date.now())

/** The URL is told in any case: `-q` must not leave one waiting for nothing. */
async function invite(cli: Cli, url: string, isOpened: boolean): Promise<void> {
  const hasBrowser = isOpened && (await openBrowser(cli.world, url))
  cli.tell(`${hasBrowser ? 'a browser was opened to sign in; if it was not:' : 'sign in here:'}\n  ${url}`)
}
