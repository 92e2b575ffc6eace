import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { demoRegistration } from '../../demo/registration.ts'
import { callerOf } from '../../plugins/auth.ts'
import { ServerDetails, ServersView, ServerTrial, ServerUpdate, ServerView } from '../../schemas/dashboard/servers.ts'
import { DryRunQuery, EnabledInput, EnabledState } from '../../schemas/dashboard/shared.ts'
import { AuthorizationRequired, RegistrationQuery, ServerInput } from '../../schemas/server.ts'
import { errorResponses, NameParam, ref } from '../../schemas/shared.ts'
import { baseUrlOf } from '../base-url.ts'
import { toServerConfig } from '../server-config.ts'
import { CALLBACK, storeWithSignIn } from './registering.ts'

const config = { access: 'admin' } as const
const reading = { access: 'user' } as const
const params = NameParam
const signIn = ref(AuthorizationRequired)
const upstreamFailures = errorResponses(400, 404, 409, 413, 414, 415, 502, 503, 504)

export interface ServersOptions {
  readonly publicUrl: string | undefined
  /** Path before the routes: `/api/dashboard` or `/api/console`. */
  readonly mount: string
}

/** Routes of servers for the dashboard. Responses contain only members of an allow list, never secrets. */
export const servers: FastifyPluginAsyncTypebox<ServersOptions> = async (app, { publicUrl, mount }) => {
  const callbackOf = (request: FastifyRequest) => `${baseUrlOf(request, publicUrl)}${mount}${CALLBACK}`
  app.get('/servers', { config: reading, schema: { response: { 200: ServersView } } }, async (request) => ({
    servers: await app.gateway.dashboard.servers(callerOf(request))
  }))

  app.get(
    '/servers/:name',
    { config: reading, schema: { params, response: { 200: ServerDetails, ...errorResponses(400, 404, 414) } } },
    (request) => app.gateway.dashboard.details(callerOf(request), request.params.name)
  )

  app.post(
    '/servers',
    {
      config,
      schema: {
        querystring: Type.Composite([RegistrationQuery, DryRunQuery]),
        body: ref(ServerInput),
        response: { 200: ServerTrial, 201: ServerView, 202: signIn, ...upstreamFailures }
      }
    },
    async (request, reply) => {
      const { body, query } = request
      if (query.dry_run)
        return reply.code(200).send(await app.gateway.dashboard.tryConfig(callerOf(request), toServerConfig(body)))
      const options = { force: query.force ?? false, saveDisabled: query.save === 'disabled' }
      const caller = callerOf(request)
      const done = await storeWithSignIn(body, callbackOf(request), (to) =>
        app.gateway.servers.register(caller, to, options)
      )
      if ('authorization_required' in done) return reply.code(202).send(done)
      return reply.code(201).send(await app.gateway.dashboard.server(caller, done.name))
    }
  )

  app.post(
    '/servers/demo',
    { config, schema: { response: { 201: ServerView, ...errorResponses(400, 409, 414, 415, 502, 503, 504) } } },
    async (request, reply) => {
      const { name } = demoRegistration()
      const caller = callerOf(request)
      await app.gateway.servers.register(caller, demoRegistration(), { force: false })
      return reply.code(201).send(await app.gateway.dashboard.server(caller, name))
    }
  )

  app.put(
    '/servers/:name',
    { config, schema: { params, body: ServerUpdate, response: { 200: ServerView, 202: signIn, ...upstreamFailures } } },
    async (request, reply) => {
      const { name } = request.params
      const caller = callerOf(request)
      const input = app.gateway.dashboard.completeUpdate(name, request.body)
      const done = await storeWithSignIn(input, callbackOf(request), (to) =>
        app.gateway.servers.replace(caller, name, to)
      )
      if ('authorization_required' in done) return reply.code(202).send(done)
      return reply.code(200).send(await app.gateway.dashboard.server(caller, name))
    }
  )

  app.post(
    '/servers/:name/test',
    { config, schema: { params, response: { 200: ServerTrial, ...errorResponses(400, 404, 414, 415, 503) } } },
    (request) => app.gateway.dashboard.testServer(callerOf(request), request.params.name)
  )

  app.patch(
    '/servers/:name/enabled',
    {
      config,
      schema: {
        params,
        body: EnabledInput,
        response: { 200: EnabledState, ...errorResponses(400, 404, 413, 414, 415, 503, 502, 504) }
      }
    },
    async (request) => {
      const { name } = request.params
      const { enabled } = request.body
      await app.gateway.servers.setEnabled(callerOf(request), name, enabled)
      return { name, enabled }
    }
  )

  app.delete(
    '/servers/:name',
    { config, schema: { params, response: { 204: Type.Null(), ...errorResponses(400, 404, 414, 503) } } },
    async (request, reply) => {
      await app.gateway.servers.remove(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
