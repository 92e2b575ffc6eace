import type { OidcConfig } from '../../config/config.ts'
import { isObject } from '../../domain/is-object.ts'
import type { Document, Finding } from './finding.ts'
import { checkKeySet } from './keys.ts'
import { checkGroups, checkMetadata, endpointIn, type SignedInPeople } from './metadata.ts'

/** Differences of clocks that are told, and at which tokens are refused. */
const CLOCK_MS = 5_000
const REFUSED_CLOCK_MS = 30_000

export interface ProviderCheckOptions {
  readonly oidc: OidcConfig
  readonly publicUrl: string
  /** Fetches within the egress policy, bounded in bytes and time. Rejects with the reason for an administrator. */
  readonly request: (url: string) => Promise<Response>
  readonly people: () => SignedInPeople
  readonly now?: () => number
}

/** Addresses to register at the provider. */
function describeAddresses(publicUrl: string): Finding {
  const title = `Redirect URI to register at the provider: ${publicUrl}/auth/callback`
  const detail = `after sign-out: ${publicUrl}/auth/logout; back-channel logout: ${publicUrl}/auth/backchannel-logout`
  return { id: 'oidc_redirect_uri', status: 'pass', title, detail }
}

function checkPublicUrl(publicUrl: string): Finding {
  const id = 'public_url'
  if (publicUrl.startsWith('https:')) return { id, status: 'pass', title: 'The public URL has https' }
  const title = `The public URL ${publicUrl} has no https: only programs and browsers of this machine can sign in`
  return { id, status: 'warn', title, hint: 'put a proxy with TLS in front, and set TOWPATH_PUBLIC_URL to its address' }
}

interface Answer {
  readonly body: Document
  readonly headers: Headers
  readonly ms: number
}

/** Reads a JSON object. Rejects with the reason. */
async function readDocument(request: ProviderCheckOptions['request'], url: string): Promise<Answer> {
  const since = performance.now()
  const response = await request(url)
  const text = await response.text()
  const ms = Math.round(performance.now() - since)
  if (response.status !== 200) throw new Error(`it answered HTTP ${response.status}`)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    // told below
  }
  if (!isObject(body)) throw new Error('its answer is no JSON object')
  return { body, headers: response.headers, ms }
}

function checkClock(headers: Headers, now: number): readonly Finding[] {
  const date = Date.parse(headers.get('date') ?? '')
  // an answer from a cache has the date at which it was stored
  if (Number.isNaN(date) || headers.has('age')) return []
  const apart = Math.abs(now - date)
  const id = 'oidc_clock'
  if (apart <= CLOCK_MS) return [{ id, status: 'pass', title: 'The clocks of the gateway and the provider agree' }]
  const title = `The clocks of the gateway and the provider are ${Math.round(apart / 1_000)} s apart`
  const hint = 'synchronise the clock of the gateway with NTP'
  if (apart <= REFUSED_CLOCK_MS) return [{ id, status: 'warn', title, hint }]
  return [{ id, status: 'fail', title, detail: 'the tokens of the provider are refused', hint }]
}

async function checkKeys(metadata: Document, { oidc, request }: ProviderCheckOptions): Promise<readonly Finding[]> {
  const id = 'oidc_keys'
  const url = endpointIn(metadata, 'jwks_uri', oidc)
  // told with the other endpoints
  if (url === undefined) return []
  try {
    const { body, ms } = await readDocument(request, url)
    return [{ id, ms, ...checkKeySet(body, metadata) }]
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    return [{ id, status: 'fail', title: 'The keys of the provider cannot be read', detail }]
  }
}

/**
 * Checks the settings of sign-in against the identity provider: reads its discovery document and its keys, and signs
 * nobody in. Does not reject.
 */
async function checkProvider(options: ProviderCheckOptions): Promise<readonly Finding[]> {
  const { oidc, publicUrl, request, people, now = Date.now } = options
  const own = [checkPublicUrl(publicUrl), describeAddresses(publicUrl)]
  const id = 'oidc_discovery'
  try {
    const { body, headers, ms } = await readDocument(request, discoveryUrl(oidc.issuer))
    return [
      ...own,
      { id, ms, status: 'pass', title: `The discovery document of ${oidc.issuer} was read` },
      ...checkMetadata(body, oidc),
      ...(await checkKeys(body, options)),
      ...checkClock(headers, now()),
      checkGroups(body, oidc, people())
    ]
  } catch (error) {
    const title = `The discovery document of ${oidc.issuer} cannot be read`
    const detail = error instanceof Error ? error.message : String(error)
    const hint = 'nobody can sign in; check TOWPATH_OIDC_ISSUER, the network and the egress policy'
    return [...own, { id, status: 'fail', title, detail, hint }]
  }
}

/** Returns a function that runs the checks; who asks meanwhile gets the same result. */
export function createProviderChecks(options: ProviderCheckOptions): () => Promise<readonly Finding[]> {
  let running: Promise<readonly Finding[]> | undefined
  return () => (running ??= checkProvider(options).finally(() => (running = undefined)))
}

/** Returns the address of the discovery document (OpenID Connect Discovery 1.0, 4.1). */
function discoveryUrl(issuer: string): string {
  const url = new URL(issuer)
  url.pathname = `${url.pathname.replace(/\/$/, '')}/.well-known/openid-configuration`
  return url.href
}
