import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../plugins/auth.ts'
import { IssuedUser, TokenInput, User, UserInput } from '../schemas/principal.ts'
import { errorResponses, NameParam, ref } from '../schemas/shared.ts'
import { userNameOf, withUsername } from './mcpjungle.ts'

const tags = ['users']
const params = NameParam
const config = { access: 'admin' } as const

/** Routes of users, enterprise mode only (http-contract.md#clients-and-users). */
export const users: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/users',
    {
      config,
      schema: {
        tags,
        operationId: 'listUsers',
        summary: 'List users',
        response: { 200: Type.Array(ref(User)) }
      }
    },
    () => app.gateway.principals.users.list().map(withUsername)
  )

  app.get(
    '/users/whoami',
    {
      config: { access: 'user' },
      schema: {
        tags,
        operationId: 'getCurrentUser',
        summary: 'Get the authenticated user',
        response: { 200: ref(User) }
      }
    },
    (request) => {
      const { name, kind } = callerOf(request)
      return withUsername({ name, role: kind as 'admin' | 'user' })
    }
  )

  app.post(
    '/users',
    {
      config,
      schema: {
        tags,
        operationId: 'createUser',
        summary: 'Create a user',
        body: ref(UserInput),
        response: { 201: ref(IssuedUser), ...errorResponses(409) }
      }
    },
    async (request, reply) => {
      const { role = 'user', access_token } = request.body
      const user = { name: userNameOf(request.body), role }
      return reply
        .code(201)
        .send(withUsername(await app.gateway.principals.users.create(callerOf(request), user, access_token)))
    }
  )

  app.put(
    '/users/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'rotateUserToken',
        summary: 'Rotate the token of a user',
        description: 'The old token stops working at once.',
        params,
        body: ref(TokenInput),
        response: { 200: ref(IssuedUser), ...errorResponses(404, 409) }
      }
    },
    async (request) => {
      const name = userNameOf(request.body, request.params.name)
      return withUsername(
        await app.gateway.principals.users.rotateToken(callerOf(request), name, request.body.access_token)
      )
    }
  )

  app.delete(
    '/users/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'deleteUser',
        summary: 'Remove a user',
        description: 'The last administrator cannot be removed.',
        params,
        response: { 204: Type.Null(), ...errorResponses(404, 409) }
      }
    },
    async (request, reply) => {
      await app.gateway.principals.users.remove(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
