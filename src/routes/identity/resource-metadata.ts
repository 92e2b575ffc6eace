import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '../../config/config.ts'
import { TITLE } from '../../domain/product.ts'
import { canonicalResource, scopesOf } from '../../http/resources.ts'
import { notFound } from '../../lib/errors.ts'

const open = { access: 'public', crossOrigin: true } as const
const endpoints = ['', '/mcp', '/sse', '/v0/groups/:name/mcp', '/v0/groups/:name/sse']

export type ResourceMetadataOptions = Pick<Config, 'publicUrl'> & { readonly auth: Pick<Config['auth'], 'external'> }

/** Metadata of each endpoint, which names the authorization server (RFC 9728). */
export const resourceMetadata: FastifyPluginAsyncTypebox<ResourceMetadataOptions> = async (app, options) => {
  const { publicUrl, auth } = options
  const { external } = auth
  // the provider knows no scope of the gateway; without any, clients ask for none
  const scopesOfProvider = external?.scopes.length ? external.scopes : undefined
  const prefix = new URL(publicUrl!).pathname.replace(/\/$/, '')
  // the same answer for every group: whether it exists is for those who may use it
  for (const endpoint of external ? endpoints : [...endpoints, '/api']) {
    const url = `/.well-known/oauth-protected-resource`
    for (const path of new Set([`${url}${endpoint}`, `${url}${prefix}${endpoint}`])) {
      app.get(path, { config: open, schema: {} }, async (request, reply) => {
        const { name } = request.params as { name?: string }
        const resource = canonicalResource(publicUrl!, `${publicUrl}${endpoint.replace(':name', name ?? '')}`)
        if (resource === undefined) throw notFound('endpoint', request.url)
        return reply.header('cache-control', 'public, max-age=300').send({
          resource,
          authorization_servers: [external?.issuer ?? publicUrl],
          scopes_supported: external ? scopesOfProvider : scopesOf(publicUrl!, resource),
          bearer_methods_supported: ['header'],
          resource_name: TITLE
        })
      })
    }
  }
}
