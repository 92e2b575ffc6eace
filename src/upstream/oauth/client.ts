import type { ClientAuthMethod, OAuthClient } from '../../registry/model/model.ts'
import type { AuthorizationServer } from './authorization-server.ts'

type AuthMethodSupport = Pick<AuthorizationServer, 'authMethods'>

/**
 * In order of preference. Basic comes after `client_secret_post`: servers disagree whether `client_id` must or must not
 * be in the body beside it, and many that list Basic accept only one of the two forms.
 */
const methods = ['client_secret_post', 'client_secret_basic', 'none'] as const
type Method = (typeof methods)[number]

const isMethod = (value: unknown): value is Method => methods.includes(value as Method)

/**
 * Returns the first of the gateway's methods that the server supports; without metadata RFC 8414 defaults to
 * `client_secret_basic`.
 */
export const chooseMethod = ({ authMethods = ['client_secret_basic'] }: AuthMethodSupport): Method =>
  methods.find((method) => authMethods.includes(method)) ?? 'client_secret_basic'

/** Returns the method to try after a refusal. If the server itself announced Basic, only its form can be wrong. */
function otherMethodOf(method: Method, isAnnounced: boolean): ClientAuthMethod {
  if (method !== 'client_secret_basic') return method === 'none' ? 'client_secret_post' : 'client_secret_basic'
  return isAnnounced ? 'client_secret_basic+client_id' : 'client_secret_post'
}

function withSecret(
  server: AuthMethodSupport,
  id: string,
  secret: string,
  returned: Method | undefined,
  requested: Method
): OAuthClient {
  const method = returned ?? requested
  const isAnnounced = returned !== undefined || server.authMethods !== undefined
  return { id, secret, method, otherMethod: otherMethodOf(method, isAnnounced) }
}

/** Returns a client that was registered by hand. */
export function preregisteredClient(server: AuthMethodSupport, id: string, secret: string | undefined): OAuthClient {
  if (secret === undefined) return { id, method: 'none' }
  const method = chooseMethod(server)
  return withSecret(server, id, secret, undefined, method === 'none' ? 'client_secret_post' : method)
}

/** Returns a client as the server registered it; `wanted` is the requested method, `given` the one in the answer. */
export function registeredClient(
  server: AuthMethodSupport,
  id: string,
  secret: unknown,
  requested: Method,
  returned: unknown
): OAuthClient {
  if (typeof secret !== 'string' || secret === '') return { id, method: 'none' }
  return withSecret(server, id, secret, isMethod(returned) ? returned : undefined, requested)
}

/** Returns the same client with its alternative method, undefined if it has none. */
export function withOtherMethod({ method, otherMethod, ...client }: OAuthClient): OAuthClient | undefined {
  return otherMethod && { ...client, method: otherMethod, otherMethod: method }
}

/** Encodes as RFC 6749 2.3.1 requires before base64. */
const formEncode = (value: string) => new URLSearchParams({ v: value }).toString().slice(2)

/** Returns the headers of a token request and adds the client's body parameters to `form`. */
export function authenticate({ id, secret = '', method }: OAuthClient, form: URLSearchParams): Record<string, string> {
  if (method !== 'client_secret_basic') form.set('client_id', id)
  if (method === 'client_secret_post') form.set('client_secret', secret)
  if (method === 'client_secret_post' || method === 'none') return {}
  const credentials = Buffer.from(`${formEncode(id)}:${formEncode(secret)}`).toString('base64')
  return { authorization: `Basic ${credentials}` }
}
