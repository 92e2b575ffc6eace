import { createHash, randomBytes } from 'node:crypto'
import type { TokenSource } from '../../registry/model/model.ts'

export interface AuthorizationRequest {
  /** URL of the sign-in page. */
  readonly url: string
  readonly state: string
  /** PKCE verifier: proves to the token endpoint that the code is redeemed by the client that requested it. */
  readonly verifier: string
}

const random = () => randomBytes(32).toString('base64url')

export interface RequestOptions {
  readonly authorizationEndpoint: string
  readonly source: TokenSource
  readonly redirectUri: string
  readonly scope: string | undefined
}

/** Creates an authorization request with PKCE S256, a state of 256 bits and the resource (RFC 7636, RFC 8707). */
export function createAuthorizationRequest(options: RequestOptions): AuthorizationRequest {
  const { authorizationEndpoint, source, redirectUri, scope } = options
  const [state, verifier] = [random(), random()]
  const url = new URL(authorizationEndpoint)
  const parameters = {
    response_type: 'code',
    client_id: source.client.id,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: source.resource,
    ...(scope === undefined ? {} : { scope })
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return { url: url.href, state, verifier }
}
