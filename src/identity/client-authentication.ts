import type * as Client from 'openid-client'
import type { OidcConfig } from '../config/config.ts'

/**
 * Returns how the gateway authenticates at the token endpoint of the provider (OpenID Connect Core 1.0, 9). If the
 * settings do not say: with the `Authorization` header, which every provider has to support by default, unless it
 * announces only the way in the body.
 */
export function clientAuthentication(
  library: typeof Client,
  { clientSecret, clientAuth }: Pick<OidcConfig, 'clientSecret' | 'clientAuth'>
): Client.ClientAuth {
  if (clientSecret === undefined) return library.None()
  const ways = {
    client_secret_basic: library.ClientSecretBasic(clientSecret),
    client_secret_post: library.ClientSecretPost(clientSecret)
  }
  return (server, ...rest) => {
    const announced = server.token_endpoint_auth_methods_supported
    const needsPost = announced?.includes('client_secret_post') && !announced.includes('client_secret_basic')
    ways[clientAuth ?? (needsPost ? 'client_secret_post' : 'client_secret_basic')](server, ...rest)
  }
}
