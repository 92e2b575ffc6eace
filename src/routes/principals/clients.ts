import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { invalid } from '../../lib/errors.ts'
import { callerOf } from '../../plugins/auth.ts'
import { Client, ClientInput, ClientPatch, IssuedClient } from '../../schemas/principal.ts'
import { errorResponses, NameParam, ref } from '../../schemas/shared.ts'
import { allowedServersOf, withAllowList } from '../mcpjungle.ts'

const tags = ['clients']
const params = NameParam
const config = { access: 'admin' } as const

const unique = (names: readonly string[]): string[] => [...new Set(names)]

/** Routes of MCP clients, enterprise mode only (http-contract.md#clients-and-users). */
export const clients: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/clients',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'listClients',
        summary: 'List MCP clients',
        response: { 200: Type.Array(ref(Client)) }
      }
    },
    () => app.gateway.principals.clients.list().map(withAllowList)
  )

  app.get(
    '/clients/:name',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'getClient',
        summary: 'Get an MCP client',
        params,
        response: { 200: ref(Client), ...errorResponses(404) }
      }
    },
    (request) => withAllowList(app.gateway.principals.clients.get(request.params.name))
  )

  app.post(
    '/clients',
    {
      config,
      schema: {
        tags,
        operationId: 'createClient',
        summary: 'Create an MCP client',
        body: ref(ClientInput),
        response: { 201: ref(IssuedClient), ...errorResponses(409) }
      }
    },
    async (request, reply) => {
      const { name, description, access_token, jwks, jwks_uri } = request.body
      const client = {
        name,
        description: description || null,
        allowed_servers: unique(allowedServersOf(request.body) ?? []),
        jwks,
        jwks_uri
      }
      return reply
        .code(201)
        .send(withAllowList(await app.gateway.principals.clients.create(callerOf(request), client, access_token)))
    }
  )

  app.put(
    '/clients/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'updateClient',
        summary: 'Update an MCP client',
        description: 'Absent members are unchanged. Also affects open sessions.',
        params,
        body: ref(ClientPatch),
        response: { 200: ref(Client), ...errorResponses(404, 409) }
      }
    },
    async (request) => {
      const { name } = request.params
      const { name: given = name, description, access_token, is_custom_access_token, jwks, jwks_uri } = request.body
      const allowed_servers = allowedServersOf(request.body)
      // to change only the token, MCPJungle's client sends all members with an empty description
      const isKept = description === undefined || (description === '' && is_custom_access_token !== undefined)
      if (given !== name) throw invalid('"name" must be the name in the path: a client cannot be renamed')
      const changed = await app.gateway.principals.clients.change(callerOf(request), name, {
        ...(isKept ? {} : { description: description || null }),
        ...(allowed_servers === undefined ? {} : { allowed_servers: unique(allowed_servers) }),
        access_token,
        jwks,
        jwks_uri
      })
      return withAllowList(changed)
    }
  )

  app.delete(
    '/clients/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'deleteClient',
        summary: 'Remove an MCP client',
        description: 'Ends its sessions and streams.',
        params,
        response: { 204: Type.Null(), ...errorResponses(404) }
      }
    },
    async (request, reply) => {
      await app.gateway.principals.clients.remove(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
