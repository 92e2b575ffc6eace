import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '../../config/config.ts'
import { createFailedLogins } from '../../http/failed-logins.ts'
import { roleOf } from '../../identity/admission.ts'
import { AppError } from '../../lib/errors.ts'
import { checkSecret } from '../secret.ts'
import { scimDiscovery } from './discovery.ts'
import { scimGroups } from './groups.ts'
import type { ScimOptions } from './options.ts'
import { scimUsers } from './users.ts'

export type ScimPluginOptions = Pick<Config, 'auth' | 'publicUrl'> & {
  readonly limits: Pick<Config['limits'], 'failedAuthentications'>
}

/** SCIM 2.0: the identity provider creates, changes and suspends users and groups (RFC 7643 and 7644). */
export const scim: FastifyPluginAsyncTypebox<ScimPluginOptions> = async (app, { auth, publicUrl, limits }) => {
  const { oidc, external, scimToken } = auth
  const provider = oidc ?? external
  if (!provider || scimToken === undefined) return
  const failedLogins = createFailedLogins(app.log, limits.failedAuthentications)
  app.addHook('onRequest', async (request, reply) => {
    try {
      checkSecret(scimToken, 'SCIM token', request, reply)
    } catch (error) {
      const retryAfter = failedLogins.record(request.address)
      if (retryAfter === undefined) throw error
      throw new AppError(429, 'too many requests with a wrong token came from this address', { retryAfter })
    }
  })
  const options: ScimOptions = {
    base: `${publicUrl}/scim/v2`,
    issuer: provider.issuer,
    roleOf: (groups) => roleOf(provider, groups),
    changeOf: ({ address, id }, action, target) => ({
      actor: { kind: 'system', name: 'scim' },
      action,
      target,
      address,
      requestId: id
    })
  }
  await app.register(scimUsers, options)
  await app.register(scimGroups, options)
  await app.register(scimDiscovery, options)
}
