import { AppError } from '../../lib/errors.ts'
import type { ServerRecord } from '../../control/server-records.ts'
import type { AuthorizationRequired } from '../../control/sign-in.ts'
import type { ServerConfig } from '../../registry/model/model.ts'
import type { ServerInput } from '../../schemas/server.ts'
import { toServerConfig } from '../server-config.ts'

/** Path of the redirect after a sign-in, behind that of the mount. */
export const CALLBACK = '/oauth/callback'

const requiresSignIn = (error: unknown) => error instanceof AppError && error.code === 'upstream_oauth_required'

/**
 * Registers or replaces a server. If it requires OAuth, tries again with the dashboard's callback as redirect URI, so
 * that the user can sign in (http-contract.md#dashboard-routes). `callback`: its URL. Throws AppError.
 */
export async function storeWithSignIn(
  input: ServerInput,
  callback: string,
  store: (config: ServerConfig) => Promise<ServerRecord | AuthorizationRequired>
): Promise<ServerRecord | AuthorizationRequired> {
  try {
    return await store(toServerConfig(input))
  } catch (error) {
    const usesDefaultCallback = input.transport === 'streamable_http' && !input.oauth_redirect_uri
    if (!usesDefaultCallback || !requiresSignIn(error)) throw error
    return store(toServerConfig({ ...input, oauth_redirect_uri: callback }))
  }
}
