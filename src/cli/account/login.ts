import type { TokenEndpointResponse } from 'openid-client'
import { tokenScopes } from '../../domain/access/access.ts'
import { escapeText } from '../../domain/text/text.ts'
import type { Cli } from '../io/cli.ts'
import { canOpenBrowser, openBrowser } from '../io/browser.ts'
import { listenForCallback } from '../io/callback.ts'
import { EXIT, Failure } from '../io/failure.ts'
import { changeSignIn, type SignIn } from '../io/account-file.ts'
import {
  type AuthorizationServer,
  findAuthorizationServer,
  signInFailure,
  toSignIn
} from '../io/authorization-server.ts'

export interface SignInFlags {
  /** True to sign in on another device even if a browser can be opened here. */
  readonly device?: boolean
  /** Separated by commas. Default: all that REST knows. */
  readonly scopes?: string
}

const SIGN_IN = 'the sign-in'
const LIMIT_MS = 600_000

function scopeOf({ scopes: supported }: AuthorizationServer, { scopes }: SignInFlags): string {
  const wanted = scopes?.split(',').map((scope) => scope.trim()) ?? tokenScopes.filter((scope) => scope !== 'mcp')
  return [...wanted, ...(supported.includes('offline_access') ? ['offline_access'] : [])].join(' ')
}

/** Signs in with the browser of this machine: authorization code with PKCE, back to a loopback port (RFC 8252). */
async function signInWithBrowser(
  cli: Cli,
  { config, resource }: AuthorizationServer,
  scope: string
): Promise<TokenEndpointResponse> {
  const oauth = await import('openid-client')
  const callback = await listenForCallback()
  try {
    const [verifier, state] = [oauth.randomPKCECodeVerifier(), oauth.randomState()]
    const page = oauth.buildAuthorizationUrl(config, {
      redirect_uri: callback.redirectUri,
      scope,
      resource,
      state,
      // without it no refresh token is issued
      prompt: 'consent',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256'
    })
    const returned = callback.waitForResponse(state, AbortSignal.timeout(LIMIT_MS))
    returned.catch(() => {})
    const isOpened = await openBrowser(cli.io, page.href)
    const lead = isOpened ? 'opening a browser to sign in; if it does not open, visit:' : 'sign in here:'
    cli.announce(`${lead}\n  ${page.href}`)
    const answer = new URL(callback.redirectUri)
    for (const [name, value] of Object.entries(await returned)) answer.searchParams.set(name, String(value))
    const checks = { pkceCodeVerifier: verifier, expectedState: state }
    return await oauth.authorizationCodeGrant(config, answer, checks, { resource })
  } finally {
    callback.close()
  }
}

/** Signs in with a browser anywhere: this machine shows a code and waits (RFC 8628). */
async function signInWithDevice(
  cli: Cli,
  { config, resource }: AuthorizationServer,
  scope: string
): Promise<TokenEndpointResponse> {
  const { initiateDeviceAuthorization, pollDeviceAuthorizationGrant } = await import('openid-client')
  const started = await initiateDeviceAuthorization(config, { scope, resource })
  const page = started.verification_uri_complete ?? started.verification_uri
  if (!/^https?:/.test(page)) throw new Failure(EXIT.failed, 'the sign-in URL is not an http:// or https:// URL')
  cli.announce(`sign in with any browser:\n  ${escapeText(page, 2_000)}`)
  cli.announce(`and check that the page shows this code: ${escapeText(started.user_code, 40)}`)
  const signal = AbortSignal.timeout(Math.min((started.expires_in ?? 600) * 1_000, LIMIT_MS))
  return pollDeviceAuthorizationGrant(config, started, { resource }, { signal })
}

/**
 * Signs in at the gateway as a person and stores the tokens. Resolves with undefined if the gateway has no sign-in of
 * its own.
 */
export async function signIn(cli: Cli, flags: SignInFlags): Promise<SignIn | undefined> {
  const server = await findAuthorizationServer(cli.api)
  if (!server) return undefined
  const hasBrowser = !flags.device && canOpenBrowser(cli.io)
  const metadata = server.config.serverMetadata()
  if (!hasBrowser && metadata.device_authorization_endpoint === undefined)
    throw new Failure(EXIT.failed, 'the gateway cannot sign in a machine without a browser', {
      hint: 'use --token-stdin with an access token'
    })
  try {
    const tokens = await (hasBrowser ? signInWithBrowser : signInWithDevice)(cli, server, scopeOf(server, flags))
    const created = toSignIn(tokens)
    await changeSignIn(cli.io.home, cli.api.registry, async () => created)
    return created
  } catch (error) {
    throw signInFailure(error, SIGN_IN)
  }
}

/** Revokes the sign-in at the gateway and forgets it. Returns false if there was none. */
export async function signOut(cli: Cli): Promise<boolean> {
  let ended: SignIn | undefined
  await changeSignIn(cli.io.home, cli.api.registry, async (current) => void (ended = current))
  if (!ended) return false
  try {
    const server = await findAuthorizationServer(cli.api)
    const { tokenRevocation } = await import('openid-client')
    if (server) await tokenRevocation(server.config, ended.refresh_token ?? ended.access_token)
  } catch {
    cli.warn('the gateway could not be told: the sign-in stays valid there until it expires')
  }
  return true
}
