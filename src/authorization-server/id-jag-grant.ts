import { randomUUID } from 'node:crypto'
import type { Client, Provider, TokenEndpointGrantContext } from 'oidc-provider'
import { canonicalResource, resourceOf, scopesOf } from '../http/resources.ts'
import { AppError } from '../lib/errors.ts'
import type { AuthConfig } from '../config/config.ts'
import type { UsedAssertions } from '../registry/used-assertions.ts'
import { CLOCKS_S } from './client-assertions.ts'

export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** Announces the grant in the metadata of the authorization server (ID-JAG draft, 7.2). */
export const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag'

/** Verified assertion of an identity provider about a person. */
export interface VerifiedAssertion {
  readonly issuer: string
  readonly id: string
  readonly clientId: string
  readonly resource: string
  /** Undefined: the assertion names none. */
  readonly scopes: readonly string[] | undefined
  /** Seconds since 1970. */
  readonly expiresAt: number
}

/** Assertions that the gateway takes. */
export interface Assertions<T extends VerifiedAssertion = VerifiedAssertion> {
  /** Rejects with a 403 AppError for a client that an administrator has not approved. */
  checkClient(client: Pick<Client, 'clientId' | 'clientName'>): Promise<void>
  /** Rejects with an AppError: 400, 503. */
  verify(assertion: string): Promise<T>
  /** Returns the id of the user, who is created if need be. Rejects with an AppError: 403, 503. */
  userOf(assertion: T, address: string): Promise<string>
  /** Called for each refusal. */
  onRefused(reason: string, clientId: string, address: string): void
}

export interface IdJagGrantOptions {
  readonly publicUrl: string
  readonly auth: Pick<AuthConfig, 'accessTokenMs'>
  readonly assertions: Assertions
  readonly usedAssertions: UsedAssertions
  /** Scopes that policies require at the moment. */
  readonly policyScopes: () => readonly string[]
}

type Context = TokenEndpointGrantContext<{ readonly assertion?: string }>

const refused = (reason: string) => new AppError(400, reason)
const OFFLINE = 'offline_access'

/** Returns the endpoint of the gateway for which the assertion was made. */
function endpointOf(
  publicUrl: string,
  { resource }: VerifiedAssertion,
  requested: string | readonly string[] = []
): string {
  const canonical = canonicalResource(publicUrl, resource)
  if (canonical === undefined || canonical === resourceOf(publicUrl, '/api')) {
    throw refused('"resource" is no MCP endpoint of the gateway')
  }
  const isOther = [requested].flat().some((each) => canonicalResource(publicUrl, each) !== canonical)
  if (isOther) throw refused('the request is for another endpoint than the assertion')
  return canonical
}

/**
 * Returns the scopes of the token: those of the assertion that the request asks for (MCP enterprise-managed
 * authorization, 7.2.1). Scopes of the assertion that nobody asked for, or that do not exist, refuse it.
 */
function scopeOf(available: readonly string[], { scopes = ['mcp'] }: VerifiedAssertion, requested: unknown): string {
  const unknown = scopes.find((scope) => scope !== OFFLINE && !available.includes(scope))
  if (unknown !== undefined) throw refused('"scope" has a scope that the endpoint does not have')
  const asked = typeof requested === 'string' && requested !== '' ? requested.split(' ') : scopes
  if (scopes.some((scope) => !asked.includes(scope))) throw refused('"scope" has a scope that was not requested')
  return scopes.filter((scope) => scope !== OFFLINE).join(' ')
}

/** Checks everything but the person, and that the assertion is used for the first time. */
async function check(options: IdJagGrantOptions, { oidc: { client, params } }: Context) {
  const { publicUrl, assertions, usedAssertions, policyScopes } = options
  if (client.clientAuthMethod === 'none') throw refused('the client must authenticate')
  await assertions.checkClient(client)
  if (typeof params.assertion !== 'string' || params.assertion === '') throw refused('"assertion" is missing')
  const assertion = await assertions.verify(params.assertion)
  if (assertion.clientId !== client.clientId) throw refused('it was made for another client')
  const endpoint = endpointOf(publicUrl, assertion, params.resource)
  const scope = scopeOf([...scopesOf(publicUrl, endpoint), ...policyScopes()], assertion, params.scope)
  const { issuer, id, expiresAt } = assertion
  const isFirst = await usedAssertions.use({ purpose: 'id-jag', issuer, id, expiresAt: expiresAt + CLOCKS_S })
  if (!isFirst) throw refused('it was used before')
  return { assertion, endpoint, scope }
}

/**
 * Lets clients exchange an assertion of the company's identity provider for an access token of the person (MCP
 * enterprise-managed authorization). There is no refresh token: the provider is asked each time.
 */
export function addIdJagGrant(provider: Provider, library: typeof import('oidc-provider'), options: IdJagGrantOptions) {
  const { errors } = library
  const failureOf = (error: unknown, client: Client, address: string): unknown => {
    if (!(error instanceof AppError)) return error
    options.assertions.onRefused(error.message, client.clientId, address)
    if (error.statusCode < 500) return new errors.InvalidGrant(error.message)
    const temporary = new errors.TemporarilyUnavailable('the assertion cannot be checked now; try again')
    return Object.assign(temporary, { status: 503, statusCode: 503 })
  }
  const seconds = options.auth.accessTokenMs / 1_000
  const issue = async (context: Context): Promise<void> => {
    const { client } = context.oidc
    const { assertion, endpoint, scope } = await check(options, context)
    const accountId = await options.assertions.userOf(assertion, context.ip)
    // tokens end with the user: there is no consent that could be withdrawn
    const token = new provider.AccessToken({ accountId, client, grantId: randomUUID(), gty: 'id_jag', scope })
    token.setAudience(endpoint)
    token.resourceServer = new provider.ResourceServer(endpoint, {
      audience: endpoint,
      scope,
      accessTokenTTL: seconds,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: 'ES256' } }
    })
    context.oidc.entity('AccessToken', token)
    context.body = {
      access_token: await token.save(),
      token_type: 'Bearer',
      expires_in: seconds,
      ...(scope !== '' && { scope })
    }
  }
  provider.registerGrantType(
    JWT_BEARER,
    async (context) => {
      const grantContext = context as Context
      await issue(grantContext).catch((error: unknown) => {
        throw failureOf(error, grantContext.oidc.client, context.ip)
      })
    },
    ['assertion', 'scope', 'resource']
  )
}
