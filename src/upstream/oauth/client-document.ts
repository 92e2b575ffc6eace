import type { Config } from '../../config/config.ts'
import { TITLE } from '../../domain/product.ts'

/** Path of the redirect URI of the command line, on any port of a loopback address. */
const LOOPBACK_CALLBACK = 'http://127.0.0.1/oauth/callback'

/** Client metadata document by which authorization servers know the gateway without a registration. */
export interface ClientDocument {
  readonly client_id: string
  readonly client_name: string
  readonly redirect_uris: string[]
  readonly grant_types: string[]
  readonly response_types: string[]
  readonly token_endpoint_auth_method: 'none'
  readonly application_type: 'native'
}

/**
 * Returns the document of the gateway; undefined without a URL for it. Its redirect URIs are those of the gateway's own
 * pages, at its public URL, and of the command line.
 */
export function clientDocument({
  upstreamClientId,
  publicUrl,
  console
}: Pick<Config, 'upstreamClientId' | 'publicUrl' | 'console'>): ClientDocument | undefined {
  if (upstreamClientId === undefined) return undefined
  const mounts = console ? ['/api/dashboard', '/api/console'] : ['/api/dashboard']
  const own = publicUrl === undefined ? [] : mounts.map((mount) => `${publicUrl}${mount}/oauth/callback`)
  return {
    client_id: upstreamClientId,
    client_name: TITLE,
    redirect_uris: [...own, LOOPBACK_CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native'
  }
}

/** True if a client with the document may use the redirect URI; the port of a loopback URI does not matter (RFC 8252 7.3). */
export function allowsRedirect({ redirect_uris: allowed }: ClientDocument, redirectUri: string): boolean {
  if (allowed.includes(redirectUri)) return true
  const url = new URL(redirectUri)
  if (url.protocol !== 'http:' || url.hostname !== '127.0.0.1') return false
  url.port = ''
  return allowed.includes(url.href)
}
