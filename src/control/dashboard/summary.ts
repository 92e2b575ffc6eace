import { maskArguments, maskUrl } from '../../domain/secrets/secret-parts.ts'
import type { ServerSecrets, StoredServer } from '../../registry/model/model.ts'
import type { ConfigSummary } from '../../schemas/dashboard/servers.ts'

type ConfigSource = Pick<StoredServer, 'transport' | 'session_mode' | 'settings'>

/**
 * Returns the configuration with the names of secret members but without their values, and with masked arguments
 * (http-contract.md#dashboard-routes).
 */
export function summaryOf({ transport, session_mode, settings }: ConfigSource, secrets: ServerSecrets): ConfigSummary {
  const { url = '', command = '', args = [], oauth_client_id, oauth_scopes, oauth_issuer, oauth_assume_pkce } = settings
  const shared = {
    session_mode,
    ...(settings.apps === false ? { apps: false } : {}),
    ...(settings.trusted_annotations ? { trusted_annotations: true } : {}),
    ...(settings.definitions ? { definitions: settings.definitions } : {})
  }
  if (transport === 'stdio') {
    const env_keys = Object.keys(secrets.env ?? {})
    return { kind: 'stdio', command, args: maskArguments(args), env_keys, ...shared }
  }
  return {
    kind: 'http',
    target: maskUrl(url),
    header_keys: Object.keys(secrets.headers ?? {}),
    ...shared,
    has_bearer_token: secrets.bearer_token !== undefined,
    has_oauth_client: oauth_client_id !== undefined,
    has_oauth_client_secret: secrets.oauth_client_secret !== undefined,
    ...(oauth_scopes ? { oauth_scopes: [...oauth_scopes] } : {}),
    ...(oauth_issuer === undefined ? {} : { oauth_issuer }),
    ...(oauth_assume_pkce ? { oauth_assume_pkce } : {})
  }
}
