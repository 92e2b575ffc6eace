import type { ClientMetadata } from 'oidc-provider'
import { COMMAND_LINE_CLIENT, PRODUCT } from '../domain/product.ts'

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** Public client that every gateway knows: its command line, which uses the REST interface. */
export const commandLine: { readonly id: string; readonly metadata: ClientMetadata } = {
  id: COMMAND_LINE_CLIENT,
  metadata: {
    client_id: COMMAND_LINE_CLIENT,
    client_name: `the command line (${PRODUCT})`,
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    // any port, see RFC 8252 7.3
    redirect_uris: ['http://127.0.0.1/oauth/callback'],
    grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT],
    response_types: ['code'],
    scope: 'towpath:read towpath:call towpath:admin offline_access'
  }
}
