import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../plugins/auth.ts'
import { IssuedUser, TokenInput, User, UserInput } from '../schemas/principal.ts'
import { failures, NameParam, ref } from '../schemas/shared.ts'

const tags = ['users']
const params = NameParam
const config = { access: 'admin' } as const

/** Decisions "Enterprise mode". */
export const users: FastifyPluginAsyncTypebox = async (app) => {
  const { gateway } = app

  app.get(
    '/users',
    {
      config,
      schema: { tags, summary: 'List users', response: { 200: Type.Array(ref(User)), ...failures(401, 403) } }
    },
    (request) => gateway.users(callerOf(request))
  )

  app.get(
    '/users/whoami',
    {
      config: { access: 'user' },
      schema: { tags, summary: 'Who is asking', response: { 200: ref(User), ...failures(401, 403) } }
    },
    (request) => {
      const { name, kind } = callerOf(request)
      return { name, role: kind as 'admin' | 'user' }
    }
  )

  app.post(
    '/users',
    {
      config,
      schema: {
        tags,
        summary: 'Create a user',
        body: ref(UserInput),
        response: { 201: ref(IssuedUser), ...failures(400, 401, 403, 409, 413, 415, 503) }
      }
    },
    async (request, reply) => {
      const { name, role = 'user', access_token } = request.body
      return reply.code(201).send(await gateway.createUser(callerOf(request), { name, role }, access_token))
    }
  )

  app.put(
    '/users/:name',
    {
      config,
      schema: {
        tags,
        summary: 'Rotate the token of a user',
        description: 'The token before is good for nothing any more.',
        params,
        body: ref(TokenInput),
        response: { 200: ref(IssuedUser), ...failures(400, 401, 403, 404, 409, 413, 414, 415, 503) }
      }
    },
    (request) => gateway.rotateUser(callerOf(request), request.params.name, request.body.access_token)
  )

  app.delete(
    '/users/:name',
    {
      config,
      schema: {
        tags,
        summary: 'Remove a user',
        description: 'The last administrator stays.',
        params,
        response: { 204: Type.Null(), ...failures(400, 401, 403, 404, 409, 414, 503) }
      }
    },
    async (request, reply) => {
      await gateway.removeUser(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
