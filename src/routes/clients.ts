import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { invalid } from '../errors.ts'
import { callerOf } from '../plugins/auth.ts'
import { Client, ClientInput, ClientPatch, IssuedClient } from '../schemas/principal.ts'
import { failures, NameParam, ref } from '../schemas/shared.ts'

const tags = ['clients']
const params = NameParam
const config = { access: 'admin' } as const

const once = (names: readonly string[]): string[] => [...new Set(names)]

/** Decisions "Enterprise mode". */
export const clients: FastifyPluginAsyncTypebox = async (app) => {
  const { gateway } = app

  app.get(
    '/clients',
    {
      config,
      schema: {
        tags,
        operationId: 'listClients',
        summary: 'List MCP clients',
        response: { 200: Type.Array(ref(Client)) }
      }
    },
    (request) => gateway.clients(callerOf(request))
  )

  app.get(
    '/clients/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'getClient',
        summary: 'One MCP client',
        params,
        response: { 200: ref(Client), ...failures(404) }
      }
    },
    (request) => gateway.client(callerOf(request), request.params.name)
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
        response: { 201: ref(IssuedClient), ...failures(409) }
      }
    },
    async (request, reply) => {
      const { name, description, allowed_servers = [], access_token } = request.body
      const client = { name, description: description || null, allowed_servers: once(allowed_servers) }
      return reply.code(201).send(await gateway.createClient(callerOf(request), client, access_token))
    }
  )

  app.put(
    '/clients/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'updateClient',
        summary: 'Change an MCP client',
        description: 'Members that are absent stay as they are. Takes effect on open sessions too.',
        params,
        body: ref(ClientPatch),
        response: { 200: ref(Client), ...failures(404, 409) }
      }
    },
    (request) => {
      const { name } = request.params
      const { name: given = name, description, allowed_servers, access_token } = request.body
      if (given !== name) throw invalid('"name" must be the name in the path: a client keeps its name')
      return gateway.changeClient(callerOf(request), name, {
        ...(description === undefined ? {} : { description: description || null }),
        ...(allowed_servers === undefined ? {} : { allowed_servers: once(allowed_servers) }),
        access_token
      })
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
        description: 'Its sessions and streams end.',
        params,
        response: { 204: Type.Null(), ...failures(404) }
      }
    },
    async (request, reply) => {
      await gateway.removeClient(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
