import type { ClientMethod, OAuthClient } from '../../registry/model.ts'
import type { AuthorizationServer } from './oauth-discovery.ts'

type Told = Pick<AuthorizationServer, 'authMethods'>

/**
 * Basic comes after `client_secret_post`: servers disagree whether `client_id` has to be in the body beside it or must not
 * be, and many that list it take it in one of the two forms only.
 */
const methods = ['client_secret_post', 'client_secret_basic', 'none'] as const
type Method = (typeof methods)[number]

const isMethod = (value: unknown): value is Method => methods.includes(value as Method)

/** The first of ours that the server supports; RFC 8414 has `client_secret_basic` where it does not say. */
export const chooseMethod = ({ authMethods = ['client_secret_basic'] }: Told): Method =>
  methods.find((method) => authMethods.includes(method)) ?? 'client_secret_basic'

/** Where the server itself said Basic, only the form of it can be wrong. */
function otherMethodOf(method: Method, isTold: boolean): ClientMethod {
  if (method !== 'client_secret_basic') return method === 'none' ? 'client_secret_post' : 'client_secret_basic'
  return isTold ? 'client_secret_basic+client_id' : 'client_secret_post'
}

function withSecret(server: Told, id: string, secret: string, told: Method | undefined, wanted: Method): OAuthClient {
  const method = told ?? wanted
  const isTold = told !== undefined || server.authMethods !== undefined
  return { id, secret, method, otherMethod: otherMethodOf(method, isTold) }
}

/** A client that was registered by hand. */
export function knownClient(server: Told, id: string, secret: string | undefined): OAuthClient {
  if (secret === undefined) return { id, method: 'none' }
  const method = chooseMethod(server)
  return withSecret(server, id, secret, undefined, method === 'none' ? 'client_secret_post' : method)
}

/** A client as the server registered it; `wanted` is the method that was asked for, `given` the one in the answer. */
export function registeredClient(
  server: Told,
  id: string,
  secret: unknown,
  wanted: Method,
  given: unknown
): OAuthClient {
  if (typeof secret !== 'string' || secret === '') return { id, method: 'none' }
  return withSecret(server, id, secret, isMethod(given) ? given : undefined, wanted)
}

/** The same client in the other way, undefined where there is none. */
export function inOtherWay({ method, otherMethod, ...client }: OAuthClient): OAuthClient | undefined {
  return otherMethod && { ...client, method: otherMethod, otherMethod: method }
}

/** As RFC 6749 2.3.1 wants it in front of base64. */
const formEncoded = (value: string) => new URLSearchParams({ v: value }).toString().slice(2)

/** Headers of a token request; what belongs into its body is added to `form`. */
export function authenticate({ id, secret = '', method }: OAuthClient, form: URLSearchParams): Record<string, string> {
  if (method !== 'client_secret_basic') form.set('client_id', id)
  if (method === 'client_secret_post') form.set('client_secret', secret)
  if (method === 'client_secret_post' || method === 'none') return {}
  const credentials = Buffer.from(`${formEncoded(id)}:${formEncoded(secret)}`).toString('base64')
  return { authorization: `Basic ${credentials}` }
}
