import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { describeSchema, schemaOf } from '../../identity/scim/library.ts'
import { notFound } from '../../lib/errors.ts'
import { ResourceParam, sendList, sendResource } from './answers.ts'
import { scimRoute as config, type ScimOptions } from './options.ts'

const kinds = ['User', 'Group'] as const

const serviceProvider = (base: string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: 200 },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    { type: 'oauthbearertoken', name: 'Bearer token', description: 'The token in TOWPATH_SCIM_TOKEN', primary: true }
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` }
})

const resourceType = (kind: (typeof kinds)[number], base: string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
  id: kind,
  name: kind,
  endpoint: `/${kind}s`,
  schema: schemaOf(kind),
  meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${kind}` }
})

/** Descriptions of the service (RFC 7644 4). */
export const scimDiscovery: FastifyPluginAsyncTypebox<ScimOptions> = async (app, { base }) => {
  const schemas = kinds.map((kind) => ({ ...describeSchema(kind, base), id: schemaOf(kind) }))
  const types = kinds.map((kind) => resourceType(kind, base))

  app.get('/ServiceProviderConfig', { config, schema: {} }, async (_request, reply) =>
    sendResource(reply, serviceProvider(base))
  )
  for (const [path, all] of [
    ['/Schemas', schemas],
    ['/ResourceTypes', types]
  ] as const) {
    app.get(path, { config, schema: {} }, async (_request, reply) => sendList(reply, all, { total: all.length }))
    app.get(`${path}/:id`, { config, schema: { params: ResourceParam } }, async (request, reply) => {
      const { id } = request.params
      const found = all.find((each) => each.id === id)
      if (!found) throw notFound('resource', id)
      return sendResource(reply, found)
    })
  }
}
