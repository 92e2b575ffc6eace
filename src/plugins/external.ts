import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import type { Config, ExternalConfig } from '../config/config.ts'
import { canonicalResource, resourceOf } from '../http/resources.ts'
import type { Finding } from '../identity/checks/finding.ts'
import type { AccessTokens } from '../identity/token-cache.ts'

/** An identity provider that is itself the authorization server of the MCP endpoints. */
export interface ExternalProvider {
  readonly accessTokens: AccessTokens
  /** Returns what the provider has and lacks. */
  checkProvider(): Promise<readonly Finding[]>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Undefined unless `TOWPATH_AUTH` is `external`. */
    readonly external: ExternalProvider | undefined
  }
}

export type ExternalPluginOptions = Pick<Config, 'publicUrl'> & { readonly auth: Pick<Config['auth'], 'external'> }

/** Limit for the metadata and for the keys of the provider. */
const PROVIDER_BYTES = 1_048_576

/** Returns the MCP endpoint that an audience means. */
function createEndpointOf(publicUrl: string) {
  const api = resourceOf(publicUrl, '/api')
  return (audience: string): string | undefined => {
    const endpoint = canonicalResource(publicUrl, audience)
    return endpoint === api ? undefined : endpoint
  }
}

async function createExternal(
  app: FastifyInstance,
  provider: ExternalConfig,
  publicUrl: string
): Promise<ExternalProvider> {
  const { createExternalTokens } = await import('../identity/external-tokens.ts')
  const { createTrustedIssuer } = await import('../identity/trusted-issuer.ts')
  const { createUserOf } = await import('../identity/known-people.ts')
  const { checkExternalProvider } = await import('../identity/checks/external.ts')
  const issuer = createTrustedIssuer({
    issuer: provider.issuer,
    request: (url, init) => app.gateway.fetchFor(provider.issuer, PROVIDER_BYTES)(url, init)
  })
  const findUser = createUserOf({ provider, registry: () => app.registry, action: 'external.sign_in' })
  return {
    accessTokens: createExternalTokens({
      provider,
      issuer,
      endpointOf: createEndpointOf(publicUrl),
      async userOf(...of) {
        const id = await findUser(...of)
        // another replica may have created the user a moment ago
        if (!app.gateway.people.user(id)) await app.registry.catchUp()
        return id
      },
      onRefused: (reason, subject, address) =>
        app.registry.recordRefusal({
          actor: { kind: 'anonymous', name: '' },
          action: 'external.refused',
          target: subject,
          reason,
          address
        })
    }),
    checkProvider: () => checkExternalProvider(issuer)
  }
}

/** Takes access tokens of the identity provider at MCP endpoints, and logs what the provider lacks. */
export default fp<ExternalPluginOptions>(
  async (app, { auth: { external: provider }, publicUrl }) => {
    if (!provider) {
      app.decorate('external', undefined)
      return
    }
    const external = await createExternal(app, provider, publicUrl!)
    app.decorate('external', external)
    const logLacks = async () => {
      for (const { status, title, hint, detail } of await external.checkProvider()) {
        if (status !== 'pass') app.log.warn({ hint, detail }, title)
      }
    }
    // a provider that is slow does not keep the gateway from serving
    app.addHook('onListen', async () => void logLacks())
  },
  { name: 'external', dependencies: ['registry', 'gateway'] }
)
