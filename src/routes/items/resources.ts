import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../../plugins/auth.ts'
import { Resource, ResourceContents, ResourceRead, ResourceTemplate } from '../../schemas/resource.ts'
import { errorResponses, ref, ServerQuery, UriQuery } from '../../schemas/shared.ts'
import { disconnectSignalOf, sendJson } from '../replies.ts'
import { switches } from './switches.ts'

const tags = ['resources']
const config = { access: 'user' } as const

/** Routes of resources and resource templates (http-contract.md#resource-record). */
export const resources: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(switches, { kind: 'resource', plural: 'resources' })

  const lists = [
    {
      url: '/resources',
      kind: 'resource',
      item: Resource,
      operationId: 'listResources',
      summary: 'List the resources of enabled servers'
    },
    {
      url: '/resource_templates',
      kind: 'template',
      item: ResourceTemplate,
      operationId: 'listResourceTemplates',
      summary: 'List the resource templates'
    }
  ] as const
  for (const { url, kind, item, operationId, summary } of lists) {
    app.get(
      url,
      {
        config,
        schema: {
          tags,
          operationId,
          summary,
          querystring: ServerQuery,
          response: { 200: Type.Array(ref(item)), ...errorResponses(404) }
        }
      },
      async (request, reply) => sendJson(reply, app.gateway.items.list(callerOf(request), kind, request.query.server))
    )
  }

  app.get(
    '/resource',
    {
      config,
      schema: {
        tags,
        operationId: 'getResource',
        summary: 'Get a resource',
        querystring: UriQuery,
        response: { 200: ref(Resource), ...errorResponses(404) }
      }
    },
    async (request, reply) => sendJson(reply, app.gateway.items.get(callerOf(request), 'resource', request.query.uri))
  )

  app.post(
    '/resources/get',
    {
      config,
      schema: {
        tags,
        operationId: 'getResourceByBody',
        summary: "Get a resource, as MCPJungle's client requests it",
        body: ref(ResourceRead),
        response: { 200: ref(Resource), ...errorResponses(404) }
      }
    },
    async (request, reply) => sendJson(reply, app.gateway.items.get(callerOf(request), 'resource', request.body.uri))
  )

  app.post(
    '/resources/read',
    {
      config: { access: 'call' },
      schema: {
        tags,
        operationId: 'readResource',
        summary: 'Read a resource',
        body: ref(ResourceRead),
        response: { 200: ref(ResourceContents), ...errorResponses(404, 409, 502, 504) }
      }
    },
    async (request, reply) =>
      sendJson(reply, await app.gateway.calls.read(callerOf(request), request.body.uri, disconnectSignalOf(reply)))
  )
}
