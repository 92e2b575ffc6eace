import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../../plugins/auth.ts'
import { ConnectedClient } from '../../schemas/oauth-client.ts'
import { errorResponses, NameParam, ref, Text } from '../../schemas/shared.ts'

const own = { access: 'self' } as const
const reading = { access: 'auditor' } as const
const admin = { access: 'admin' } as const
const id = Text({ minLength: 1 })

type App = Parameters<FastifyPluginAsyncTypebox>[0]

/** Routes of browser sessions and connected OAuth clients. */
export const signIns: FastifyPluginAsyncTypebox = async (app) => {
  addOwn(app)
  addOfUsers(app)
}

function addOwn(app: App): void {
  // the gateway may start later, once its database is there
  const clients = () => app.gateway.connectedClients
  app.get(
    '/me/clients',
    {
      config: own,
      schema: {
        tags: ['me'],
        operationId: 'listOwnClients',
        summary: 'List the OAuth clients that act for the caller',
        response: { 200: Type.Array(ref(ConnectedClient)) }
      }
    },
    (request) => clients().listOwn(callerOf(request))
  )

  app.delete(
    '/me/clients/:id',
    {
      config: own,
      schema: {
        tags: ['me'],
        operationId: 'disconnectOwnClient',
        summary: 'Disconnect an OAuth client',
        description: 'Ends its tokens, sessions, streams and calls. It has to be let in again.',
        params: Type.Object({ id }),
        response: { 204: Type.Null(), ...errorResponses(404) }
      }
    },
    async (request, reply) => {
      await clients().endOwn(callerOf(request), request.params.id)
      return reply.code(204).send(null)
    }
  )

  app.delete(
    '/me/sessions',
    {
      config: own,
      schema: {
        tags: ['me'],
        operationId: 'signOutEverywhere',
        summary: 'Sign out everywhere',
        description: 'Ends all browser sessions and disconnects all OAuth clients of the caller; access tokens stay.',
        response: { 204: Type.Null() }
      }
    },
    async (request, reply) => {
      await clients().signOutOwn(callerOf(request))
      return reply.code(204).send(null)
    }
  )
}

function addOfUsers(app: App): void {
  // the gateway may start later, once its database is there
  const clients = () => app.gateway.connectedClients
  app.get(
    '/users/:name/clients',
    {
      config: reading,
      schema: {
        tags: ['users'],
        operationId: 'listUserClients',
        summary: 'List the OAuth clients that act for a user',
        params: NameParam,
        response: { 200: Type.Array(ref(ConnectedClient)), ...errorResponses(404) }
      }
    },
    (request) => clients().listOf(request.params.name)
  )

  app.delete(
    '/users/:name/clients/:id',
    {
      config: admin,
      schema: {
        tags: ['users'],
        operationId: 'disconnectUserClient',
        summary: 'Disconnect an OAuth client from a user',
        params: Type.Object({ name: Text({ minLength: 1 }), id }),
        response: { 204: Type.Null(), ...errorResponses(404) }
      }
    },
    async (request, reply) => {
      const { params } = request
      await clients().endOf(callerOf(request), params.name, params.id)
      return reply.code(204).send(null)
    }
  )

  app.delete(
    '/users/:name/sessions',
    {
      config: admin,
      schema: {
        tags: ['users'],
        operationId: 'signOutUser',
        summary: 'Sign a user out everywhere',
        description: 'Ends all browser sessions and disconnects all OAuth clients of the user; access tokens stay.',
        params: NameParam,
        response: { 204: Type.Null(), ...errorResponses(404) }
      }
    },
    async (request, reply) => {
      await clients().signOutOf(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
