import type { OidcConfig } from '../../config/config.ts'
import { escapeText } from '../../domain/text/text.ts'
import { textsIn, type Document, type Finding } from './finding.ts'

const MAX_SHOWN = 200

/** Shows a value of the provider to an administrator. */
const show = (value: unknown): string =>
  typeof value === 'string' ? `"${escapeText(value, MAX_SHOWN)}"` : value === undefined ? 'nothing' : 'no text'

const hrefOf = (value: unknown): string | undefined =>
  typeof value === 'string' && URL.canParse(value) ? new URL(value).href : undefined

function checkIssuer({ issuer: announced }: Document, { issuer }: OidcConfig): Finding {
  const id = 'oidc_issuer'
  if (hrefOf(announced) === new URL(issuer).href)
    return { id, status: 'pass', title: 'The provider names the same issuer as TOWPATH_OIDC_ISSUER' }
  const title = `The provider names another issuer than TOWPATH_OIDC_ISSUER: ${show(announced)}`
  return { id, status: 'fail', title, hint: 'set TOWPATH_OIDC_ISSUER to the issuer of your company at the provider' }
}

/** Returns the address of an endpoint; undefined unless it has TLS, or the issuer itself is on this machine. */
export function endpointIn(metadata: Document, name: string, { issuer }: Pick<OidcConfig, 'issuer'>) {
  const href = hrefOf(metadata[name])
  const isPlain = issuer.startsWith('http:') && href?.startsWith('http:')
  return isPlain || href?.startsWith('https:') ? href : undefined
}

function checkEndpoints(metadata: Document, oidc: OidcConfig): Finding {
  const id = 'oidc_endpoints'
  const needed = ['authorization_endpoint', 'token_endpoint', 'jwks_uri']
  const wrong = needed.filter((name) => endpointIn(metadata, name, oidc) === undefined)
  if (wrong.length === 0) return { id, status: 'pass', title: 'The provider names the endpoints that sign-in needs' }
  const title = `The discovery document has no usable ${wrong.join(', ')}`
  return { id, status: 'fail', title, hint: 'check that TOWPATH_OIDC_ISSUER is an OpenID provider with https' }
}

function checkPkce(metadata: Document): Finding {
  const id = 'oidc_pkce'
  const methods = textsIn(metadata['code_challenge_methods_supported'])
  if (methods?.includes('S256')) return { id, status: 'pass', title: 'The provider announces PKCE with S256' }
  if (methods) {
    const title = 'The provider announces PKCE without S256, the method that the gateway uses'
    return { id, status: 'fail', title, hint: 'allow S256 for the client at the provider' }
  }
  const title = 'The provider does not announce PKCE'
  const detail = 'the gateway uses it anyway; Entra ID supports it without saying so, others may ignore it'
  return { id, status: 'warn', title, detail }
}

function checkClientAuth(metadata: Document, { clientSecret, clientAuth }: OidcConfig): Finding {
  const id = 'oidc_client_auth'
  const announced = textsIn(metadata['token_endpoint_auth_methods_supported']) ?? ['client_secret_basic']
  const chosen = clientAuth === undefined ? ['client_secret_basic', 'client_secret_post'] : [clientAuth]
  const usable = clientSecret === undefined ? ['none'] : chosen
  if (usable.some((each) => announced.includes(each)))
    return { id, status: 'pass', title: 'The provider accepts the way in which the gateway authenticates' }
  const shown = announced.slice(0, 10).map(show).join(', ')
  const title = `The provider announces other ways to authenticate than ${usable.join(', ')}`
  return {
    id,
    status: 'warn',
    title,
    detail: shown,
    hint: 'see TOWPATH_OIDC_CLIENT_SECRET and TOWPATH_OIDC_CLIENT_AUTH'
  }
}

function checkScopes(metadata: Document, { scopes }: OidcConfig): Finding {
  const id = 'oidc_scopes'
  const announced = textsIn(metadata['scopes_supported'])
  const unknown = announced && scopes.split(' ').filter((scope) => scope !== '' && !announced.includes(scope))
  if (!unknown || unknown.length === 0)
    return { id, status: 'pass', title: 'The provider has the scopes that the gateway asks for' }
  const title = `The provider does not announce the scopes ${unknown.join(', ')}`
  return { id, status: 'warn', title, hint: 'sign-in may be refused with invalid_scope; see TOWPATH_OIDC_SCOPES' }
}

function checkLogout(metadata: Document): Finding {
  const id = 'oidc_logout'
  if (metadata['backchannel_logout_supported'] === true)
    return { id, status: 'pass', title: 'The provider can tell the gateway when people sign out there' }
  const title = 'The provider does not announce back-channel logout: who signs out there stays signed in here'
  return { id, status: 'pass', title }
}

/** People who have signed in at the provider. */
export interface SignedInPeople {
  readonly total: number
  readonly withGroups: number
}

/** Checks whether groups arrive; discovery documents rarely say so, thus by the people who have signed in. */
export function checkGroups(metadata: Document, oidc: OidcConfig, { total, withGroups }: SignedInPeople): Finding {
  const { groupsClaim, scopes, adminGroups, auditorGroups, requiredGroups } = oidc
  const id = 'oidc_groups'
  const claim = groupsClaim.split('.')[0]!
  if (withGroups > 0)
    return { id, status: 'pass', title: `${withGroups} of ${total} people who have signed in have groups` }
  if (textsIn(metadata['scopes_supported'])?.includes(claim) && !scopes.split(' ').includes(claim)) {
    const title = `The provider has a scope "${claim}", which the gateway does not ask for`
    return { id, status: 'warn', title, hint: `set TOWPATH_OIDC_SCOPES="${scopes} ${claim}"` }
  }
  const hint = `let the provider put the claim "${groupsClaim}" into the ID token (docs/how-to/identity-providers.md)`
  if (total > 0) {
    const needsGroups = adminGroups.length + auditorGroups.length + requiredGroups.length > 0
    const title = `None of ${total} people who have signed in has a group`
    return { id, status: needsGroups ? 'warn' : 'pass', title, hint }
  }
  const isAnnounced = textsIn(metadata['claims_supported'])?.includes(claim)
  const title = isAnnounced
    ? `The provider announces the claim "${claim}"`
    : `The provider does not announce the claim "${claim}"; the first sign-in shows whether it is sent`
  return { id, status: 'pass', title }
}

/** Checks a discovery document against the settings (OpenID Connect Discovery 1.0, 3). */
export const checkMetadata = (metadata: Document, oidc: OidcConfig): readonly Finding[] => [
  checkIssuer(metadata, oidc),
  checkEndpoints(metadata, oidc),
  checkPkce(metadata),
  checkClientAuth(metadata, oidc),
  checkScopes(metadata, oidc),
  checkLogout(metadata)
]
