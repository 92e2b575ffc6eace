import type { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Configuration, ErrorOut, JWKS, KoaContextWithOIDC, Provider as ProviderType } from 'oidc-provider'
import { knownScopes } from './known-scopes.ts'
import { SIGN_INS_CLAIM } from '../domain/access/sign-in-claim.ts'
import { renderPage, pageHeaders, html } from '../http/page.ts'
import type { OAuthRecords } from '../registry/oauth-records.ts'
import type { PrivateJwk } from '../registry/repositories/signing-keys.ts'
import type { UsedAssertions } from '../registry/used-assertions.ts'
import { createAdapters } from './adapter.ts'
import { clientAssertionRules, rememberAssertions } from './client-assertions.ts'
import { commandLine } from './command-line.ts'
import { BROWSER_HEADER, BROWSER_PARAMETER, createConsentPolicy } from './consent-policy.ts'
import { createFeatures, type FeatureOptions } from './features.ts'
import { addIdJagGrant, ID_JAG_PROFILE, JWT_BEARER, type Assertions } from './id-jag-grant.ts'
import { addMcpClients, type FindMcpClient, type McpClients } from './mcp-clients.ts'

type Library = typeof import('oidc-provider')

/** Life of refresh tokens, however often they are used (section 3.3). */
const DAY_S = 86_400
const REFRESH_MAX_S = 90 * DAY_S
const PREFIX = '/oauth'

export const paths = {
  authorization: `${PREFIX}/authorize`,
  token: `${PREFIX}/token`,
  registration: `${PREFIX}/register`,
  revocation: `${PREFIX}/revoke`,
  jwks: `${PREFIX}/jwks`,
  device: `${PREFIX}/device`,
  deviceCode: `${PREFIX}/device/code`,
  interaction: `${PREFIX}/interaction`
} as const

export interface ProviderOptions extends FeatureOptions {
  readonly records: () => OAuthRecords
  readonly usedAssertions: UsedAssertions
  readonly mcpClient: FindMcpClient
  /** Assertions of identity providers; undefined: none are taken. */
  readonly assertions: Assertions | undefined
  readonly keys: readonly PrivateJwk[]
  readonly keyFor: (label: string) => Buffer
  /** True if the user may get tokens. */
  readonly isActive: (userId: string) => boolean
  /** Returns the time from which sign-ins of the user count, in milliseconds since 1970. */
  readonly signInsValidFrom: (userId: string) => number
  /** True if clients of the user may renew their tokens. */
  readonly mayRefresh: (userId: string) => boolean
  /** Reads documents and keys of clients. */
  readonly fetch: (url: string, init: RequestInit | undefined) => Promise<Response>
  /** Ends the access tokens of a grant. */
  readonly onGrantEnded: (grantId: string) => Promise<void>
  readonly onError: (error: Error) => void
  readonly warn: (text: string) => void
}

/** SHA-256 of a grant's id, by which access tokens name their grant. */
export const grantHash = (grantId: string): Buffer => createHash('sha256').update(grantId).digest()

/** Loads the library once; its warnings go to our log. */
let library: Promise<Library> | undefined
export function loadLibrary(warn: (text: string) => void): Promise<Library> {
  if (library) return library
  const original = console.warn
  // the library prints while it is loaded, and has no option against it
  console.warn = (...parts: unknown[]) =>
    warn(
      parts
        .map(String)
        .join(' ')
        .replace(/\p{Cc}\[[\d;]*m/gu, '')
        .trim()
    )
  library = import('oidc-provider').finally(() => {
    console.warn = original
  })
  return library
}

function renderError(context: KoaContextWithOIDC, out: ErrorOut): void {
  for (const [name, value] of Object.entries(pageHeaders)) context.set(name, value)
  const reason = out.error_description ?? out.error
  context.body = renderPage({
    title: 'The sign-in cannot go on',
    body: html`<p class="error">${String(reason)}</p>
      <p>The program that sent you here made a request that is not valid. Nothing was sent back to it.</p>`
  })
}

/**
 * Sends nobody to a client's address before the person has seen a page of ours: everybody can register an address
 * (RFC 9700 4.11.2). An error that comes before the consent is shown with a link instead.
 */
async function showErrorBeforeRedirect(context: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> {
  await next()
  const location = context.response.get('location')
  // refusals of the person come from the route `resume`
  if (context.oidc?.route !== 'authorization' || !URL.canParse(location)) return
  const to = new URL(location)
  const answer = to.searchParams.has('error') ? to.searchParams : new URLSearchParams(to.hash.slice(1))
  const error = answer.get('error')
  if (error === null) return
  for (const [name, value] of Object.entries(pageHeaders)) context.set(name, value)
  context.remove('location')
  context.status = 400
  context.body = renderPage({
    title: 'The sign-in cannot go on',
    body: html`<p class="error">${answer.get('error_description') ?? error}</p>
      <p>The program that sent you here made a request that is not valid. Nothing was sent back to it.</p>
      <p><a class="button" href="${location}">Tell the program at ${to.host === '' ? to.protocol : to.host}</a></p>`
  })
}

/** Creates the metadata documents' values that the library would announce otherwise. */
const discovery = {
  authorization_response_iss_parameter_supported: true,
  service_documentation: undefined,
  claims_supported: undefined
}

function createConfiguration(
  options: ProviderOptions,
  library: Library,
  claimsOf: McpClients['claimsOf']
): Configuration {
  const { publicUrl, keyFor, auth } = options
  const assertions = clientAssertionRules(library)
  return {
    adapter: createAdapters({ ...options, InvalidGrant: library.errors.InvalidGrant }),
    clients: [commandLine.metadata],
    jwks: { keys: options.keys } as unknown as JWKS,
    findAccount: (_context, id, token) =>
      (token?.kind === 'RefreshToken' ? options.mayRefresh(id) : options.isActive(id))
        ? { accountId: id, claims: () => ({ sub: id }) }
        : undefined,
    interactions: {
      policy: createConsentPolicy(library),
      url: (_context, { uid }) => `${new URL(publicUrl).pathname.replace(/\/$/, '')}${paths.interaction}/${uid}`
    },
    loadExistingGrant: async (context) => {
      const grantId = context.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : context.oidc.provider.Grant.find(grantId)
    },
    routes: {
      authorization: paths.authorization,
      token: paths.token,
      registration: paths.registration,
      revocation: paths.revocation,
      jwks: paths.jwks,
      device_authorization: paths.device,
      code_verification: paths.deviceCode
    },
    extraParams: [BROWSER_PARAMETER],
    scopes: [...knownScopes],
    responseTypes: ['code'],
    subjectTypes: ['public'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    clientDefaults: {
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'none'
    },
    ...assertions,
    enabledJWA: { ...assertions.enabledJWA, idTokenSigningAlgValues: ['ES256'] },
    pkce: { required: () => true },
    cookies: {
      names: { session: 'towpath_oauth', interaction: 'towpath_interaction', resume: 'towpath_resume' },
      keys: [keyFor('cookies of the authorization server').toString('base64url')],
      long: { httpOnly: true, sameSite: 'lax', signed: true, path: '/oauth' },
      short: { httpOnly: true, sameSite: 'lax', signed: true }
    },
    ttl: {
      AccessToken: auth.accessTokenMs / 1_000,
      ClientCredentials: auth.accessTokenMs / 1_000,
      AuthorizationCode: 60,
      DeviceCode: 600,
      Interaction: 600,
      Session: DAY_S,
      Grant: REFRESH_MAX_S,
      IdToken: auth.accessTokenMs / 1_000,
      RefreshToken: (_context, token) =>
        Math.max(1, Math.min(auth.refreshTokenMs / 1_000, REFRESH_MAX_S - token.totalLifetime()))
    },
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
    extraTokenClaims: ({ oidc }, token) => {
      if (token.kind === 'ClientCredentials') return claimsOf(oidc.client!)
      const { grantId, accountId } = token
      if (!grantId) return undefined
      const since = accountId === undefined ? 0 : options.signInsValidFrom(accountId)
      return { gid: grantHash(grantId).toString('base64url'), [SIGN_INS_CLAIM]: since }
    },
    renderError,
    clientBasedCORS: () => false,
    discovery: {
      ...discovery,
      ...(options.assertions && { authorization_grant_profiles_supported: [ID_JAG_PROFILE] })
    },
    fetch: (url, init) => options.fetch(url instanceof Request ? url.url : String(url), init),
    features: createFeatures(options, library)
  } as Configuration
}

/** Client and browser of a request. */
export interface RequestOrigin {
  /** Address of the client, which the page for device codes shows. */
  readonly address: string
  /** SHA-256 of the cookies by which the browser is known, base64url. */
  readonly browsers: readonly string[]
}

/** Handles requests below `/oauth/`, and the metadata documents. */
export interface AuthorizationServer {
  readonly provider: ProviderType
  handle(request: IncomingMessage, response: ServerResponse, origin: RequestOrigin): Promise<void>
}

/** Requests of the library that run in this process, for all its gateways: they share its storage. */
let runningRequests = 0

/**
 * Returns a function that runs requests of the library. The library keeps their contexts in an AsyncLocalStorage, which
 * slows every promise of the process by hooks from its first use on, at least in Node.js 20: a call took a fifth longer
 * after one person had signed in. So the storage is disabled whenever no request of the library is running.
 */
async function createRunner(): Promise<(work: () => Promise<void>) => Promise<void>> {
  // @ts-expect-error the types of the library do not cover this file
  const { default: contexts } = (await import('oidc-provider/lib/helpers/als.js')) as {
    default: AsyncLocalStorage<unknown>
  }
  return async (work) => {
    runningRequests++
    try {
      await work()
    } finally {
      if (--runningRequests === 0) contexts.disable()
    }
  }
}

/** Creates the authorization server (OAuth 2.1, RFC 8414, 7591, 8707, 9207, 7009). */
export async function createAuthorizationServer(options: ProviderOptions): Promise<AuthorizationServer> {
  const library = await loadLibrary(options.warn)
  const configuration = createConfiguration(options, library, (client) => mcpClients.claimsOf(client))
  const provider = new library.Provider(options.publicUrl, configuration)
  const { assertions } = options
  if (assertions) addIdJagGrant(provider, library, { ...options, assertions })
  const mcpClients = addMcpClients(provider, {
    find: options.mcpClient,
    reserved: new Set([commandLine.id]),
    grants: assertions ? [JWT_BEARER] : []
  })
  rememberAssertions(provider, options.usedAssertions)
  provider.proxy = true
  provider.on('server_error', (_context, error) => options.onError(error))
  provider.use(showErrorBeforeRedirect as never)
  const callback = provider.callback()
  const run = await createRunner()
  const { host, protocol, pathname } = new URL(options.publicUrl)
  return {
    provider,
    async handle(request, response, { address, browsers }) {
      // the public URL decides, never what a client or proxy wrote
      request.headers.host = host
      request.headers['x-forwarded-host'] = host
      request.headers['x-forwarded-for'] = address
      request.headers[BROWSER_HEADER] = browsers.join(' ')
      request.headers['x-forwarded-proto'] = protocol.slice(0, -1)
      // a reverse proxy takes the path of the public URL away
      Object.assign(request, { baseUrl: pathname.replace(/\/$/, '') })
      await run(async () => callback(request, response))
    }
  }
}
