import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Role } from '../../domain/access/access.ts'
import { callerOf } from '../../plugins/auth.ts'
import { AccessToken } from '../../schemas/access-token.ts'
import {
  IssuedUser,
  ListedUser,
  ListUsersQuery,
  RoleInput,
  TokenInput,
  User,
  UserDetails,
  UserInput
} from '../../schemas/principal.ts'
import { errorResponses, NameParam, ref, Text } from '../../schemas/shared.ts'
import { userNameOf, withUsername } from '../mcpjungle.ts'

const tags = ['users']
const params = NameParam
const config = { access: 'admin' } as const
const reading = { access: 'auditor' } as const

type App = Parameters<FastifyPluginAsyncTypebox>[0]

/** Routes of users, enterprise mode only (http-contract.md#clients-and-users). */
export const users: FastifyPluginAsyncTypebox = async (app) => {
  addReads(app)
  addChanges(app)
  addRights(app)
  addTokens(app)
}

function addReads(app: App): void {
  app.get(
    '/users',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listUsers',
        summary: 'List users',
        querystring: ListUsersQuery,
        response: { 200: Type.Array(ref(ListedUser)) }
      }
    },
    async (request) => {
      const { users: all } = app.gateway.principals
      const found = request.query.include === undefined ? all.list() : await all.listDetails()
      return found.map(withUsername)
    }
  )

  app.get(
    '/users/:name',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'getUser',
        summary: 'Get a user with groups and teams',
        params,
        response: { 200: ref(UserDetails), ...errorResponses(404) }
      }
    },
    async (request) => withUsername(await app.gateway.principals.users.get(request.params.name))
  )

  app.get(
    '/users/whoami',
    {
      config: { access: 'self' },
      schema: {
        tags,
        operationId: 'getCurrentUser',
        summary: 'Get the authenticated user',
        response: { 200: ref(User) }
      }
    },
    (request) => {
      const { name, kind } = callerOf(request)
      return withUsername({ name, role: kind as Role })
    }
  )
}

function addChanges(app: App): void {
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
        description: 'The old token stops working at once; personal access tokens are unchanged.',
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

function addRights(app: App): void {
  app.put(
    '/users/:name/role',
    {
      config,
      schema: {
        tags,
        operationId: 'setUserRole',
        summary: 'Change the role of a user',
        description:
          'Ends the sessions, streams and calls of the user. The role of the last administrator cannot be changed.',
        params,
        body: ref(RoleInput),
        response: { 200: ref(User), ...errorResponses(404, 409) }
      }
    },
    async (request) =>
      withUsername(
        await app.gateway.principals.users.changeRole(callerOf(request), request.params.name, request.body.role)
      )
  )

  app.post(
    '/users/:name/suspend',
    {
      config,
      schema: {
        tags,
        operationId: 'suspendUser',
        summary: 'Suspend a user',
        description:
          'Refuses all tokens of the user, and ends the sessions, streams and calls, until the user is resumed. The last administrator cannot be suspended.',
        params,
        response: { 200: ref(User), ...errorResponses(404, 409) }
      }
    },
    async (request) => withUsername(await app.gateway.principals.users.suspend(callerOf(request), request.params.name))
  )

  app.post(
    '/users/:name/resume',
    {
      config,
      schema: {
        tags,
        operationId: 'resumeUser',
        summary: 'Resume a suspended user',
        params,
        response: { 200: ref(User), ...errorResponses(404) }
      }
    },
    async (request) => withUsername(await app.gateway.principals.users.resume(callerOf(request), request.params.name))
  )
}

function addTokens(app: App): void {
  app.get(
    '/users/:name/tokens',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listUserTokens',
        summary: 'List the access tokens of a user',
        params,
        response: { 200: Type.Array(ref(AccessToken)), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.accessTokens.listOf(callerOf(request), request.params.name)
  )

  app.delete(
    '/users/:name/tokens/:id',
    {
      config,
      schema: {
        tags,
        operationId: 'revokeUserToken',
        summary: 'Revoke an access token of a user',
        description: 'Ends the sessions, streams and calls that the token was used for.',
        params: Type.Object({ name: Text({ minLength: 1 }), id: Text({ minLength: 1 }) }),
        response: { 204: Type.Null(), ...errorResponses(404, 409) }
      }
    },
    async (request, reply) => {
      const { name, id } = request.params
      await app.gateway.accessTokens.revokeOf(callerOf(request), name, id)
      return reply.code(204).send(null)
    }
  )
}
