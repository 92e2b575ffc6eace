import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { developmentCaller, messageFor, type Caller } from '../catalog/caller.ts'
import { isAuditor } from '../domain/access/access.ts'
import { recognizeBody } from '../domain/import/recognize.ts'
import { AppError, invalid } from '../lib/errors.ts'
import { refuseEncoding } from '../plugins/json-body.ts'
import { baseUrlOf } from './base-url.ts'
import type { FastifyRequest } from 'fastify'
import { auditChange } from '../control/audit-change.ts'
import { callerOf } from '../plugins/auth.ts'
import {
  AuthorizationRequired,
  IncludeQuery,
  RecordingInput,
  RegistrationQuery,
  Refresh,
  RegisteredServer,
  Server,
  type ServerHealthRecord,
  ServerInput,
  ServerState,
  ServerSwitches,
  ServerSwitchesPatch
} from '../schemas/server.ts'
import type { ServerView } from '../schemas/dashboard/servers.ts'
import { DefinitionPolicyInput } from '../schemas/definition.ts'
import { errorResponses, NameParam, ref } from '../schemas/shared.ts'
import { withServer } from './mcpjungle.ts'
import { toServerConfig } from './server-config.ts'

const tags = ['servers']
const params = NameParam
const admin = { access: 'admin' } as const
const user = { access: 'user' } as const
const signIn = {
  ...ref(AuthorizationRequired),
  description: 'The upstream requires OAuth: sign in, then complete the session'
}

type App = Parameters<FastifyPluginAsyncTypebox>[0]

/** Routes of servers (http-contract.md#server-object). */
export const servers: FastifyPluginAsyncTypebox = async (app) => {
  addReads(app)
  await app.register(addRegistration)
  addReplacement(app)
  addRemoval(app)
  addSwitches(app)
  addRefresh(app)
  addRecording(app)
  addDefinitionPolicy(app)
  addConfigs(app)
}

/** Returns the health of servers by name; errors and figures of calls are for administrators and auditors. */
const healthOf = (views: readonly ServerView[], caller: Caller): Map<string, ServerHealthRecord> =>
  new Map(
    views.map(
      ({
        name,
        status,
        status_since,
        last_error,
        tool_count,
        prompt_count,
        resource_count,
        skill_count,
        stats_24h
      }) => [
        name,
        {
          status,
          ...(status_since === undefined ? {} : { since: status_since }),
          ...(isAuditor(caller) && last_error !== undefined ? { last_error: messageFor(caller, last_error) } : {}),
          ...{ tool_count, prompt_count, resource_count, skill_count },
          ...(isAuditor(caller) && stats_24h
            ? {
                calls_24h: {
                  calls: stats_24h.calls,
                  failed: stats_24h.failed,
                  ...(stats_24h.p95_ms === undefined ? {} : { p95_ms: stats_24h.p95_ms })
                }
              }
            : {})
        }
      ]
    )
  )

function addReads(app: App): void {
  app.get(
    '/servers',
    {
      config: user,
      schema: {
        tags,
        operationId: 'listServers',
        summary: 'List servers',
        querystring: IncludeQuery,
        response: { 200: Type.Array(ref(Server)) }
      }
    },
    async (request) => {
      await app.learnActivity?.()
      const servers = app.gateway.servers.list(callerOf(request))
      if (request.query.include === undefined) return servers
      const health = healthOf(await app.gateway.dashboard.servers(developmentCaller), callerOf(request))
      return servers.flatMap((server) => {
        const own = health.get(server.name)
        return own ? [{ ...server, health: own }] : []
      })
    }
  )

  app.get(
    '/servers/:name',
    {
      config: user,
      schema: {
        tags,
        operationId: 'getServer',
        summary: 'Get a server',
        params,
        querystring: IncludeQuery,
        response: { 200: ref(Server), ...errorResponses(404) }
      }
    },
    async (request) => {
      await app.learnActivity?.()
      const { name } = request.params
      const server = app.gateway.servers.get(callerOf(request), name)
      if (request.query.include === undefined) return server
      const health = healthOf([await app.gateway.dashboard.server(developmentCaller, name)], callerOf(request)).get(
        name
      )!
      return { ...server, health }
    }
  )
}

const NOT_JSON = 'the content type must be application/json'
/** Most servers in an error that names the bodies to send. */
const MAX_RECOGNIZED = 100

/** Returns the error for a body that is no registration but can be turned into some; undefined for any other body. */
function recognitionError(request: FastifyRequest): AppError | undefined {
  const found = recognizeBody(request.body, { ownUrls: [baseUrlOf(request, undefined)] })
  if (!found) return undefined
  const servers = found.servers.slice(0, MAX_RECOGNIZED)
  const usable = servers.filter(({ problems }) => problems.length === 0)
  const refused = servers.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`))
  const hasVariables = usable.some(({ variables }) => variables.length > 0)
  return new AppError(400, `the body is ${found.kind}, not a registration`, {
    details: {
      recognized: found.kind,
      next_step:
        usable.length === 0
          ? 'Correct what "problems" names'
          : `Send each of "registrations" as application/json${hasVariables ? ', with values instead of ${NAME}' : ''}`,
      registrations: usable.map(({ registration }) => registration),
      ...(refused.length > 0 && { problems: refused.slice(0, MAX_RECOGNIZED) })
    }
  })
}

/** Reads texts too, only to name the registration that they stand for. */
const addRegistration: FastifyPluginAsyncTypebox = async (app) => {
  app.addContentTypeParser('text/plain', { parseAs: 'string' }, (request, text, done) =>
    done(refuseEncoding(request), text)
  )
  app.post(
    '/servers',
    {
      config: admin,
      schema: {
        tags,
        operationId: 'registerServer',
        summary: 'Register a server',
        description:
          'The server is stored only after it has responded and its lists have been read, unless `save=disabled` is given. A body that is the configuration of a client or a command line is a 400 that names the registrations to send.',
        querystring: RegistrationQuery,
        body: ref(ServerInput),
        response: { 201: ref(RegisteredServer), 202: signIn, ...errorResponses(409, 502, 504) }
      },
      preValidation: (request, _reply, done) => {
        const isText = /^text\/plain\b/i.test(request.headers['content-type'] ?? '')
        done(recognitionError(request) ?? (isText ? new AppError(415, NOT_JSON) : undefined))
      }
    },
    async (request, reply) => {
      const { force = false, save } = request.query
      const options = { force, saveDisabled: save === 'disabled' }
      const done = await app.gateway.servers.register(callerOf(request), toServerConfig(request.body), options)
      return 'authorization_required' in done ? reply.code(202).send(done) : reply.code(201).send(withServer(done))
    }
  )
}

function addReplacement(app: App): void {
  app.put(
    '/servers/:name',
    {
      config: admin,
      schema: {
        tags,
        operationId: 'replaceServer',
        summary: 'Replace the configuration of a server',
        description: 'The new configuration must connect first. Disabled items stay disabled.',
        params,
        body: ref(ServerInput),
        response: { 200: ref(Server), 202: signIn, ...errorResponses(404, 409, 502, 504) }
      }
    },
    async (request, reply) => {
      const { name } = request.params
      if (request.body.name !== name) throw invalid('"name" must be the name in the path: a server cannot be renamed')
      const done = await app.gateway.servers.replace(callerOf(request), name, toServerConfig(request.body))
      return 'authorization_required' in done ? reply.code(202).send(done) : reply.code(200).send(done)
    }
  )
}

function addRemoval(app: App): void {
  app.delete(
    '/servers/:name',
    {
      config: admin,
      schema: {
        tags,
        operationId: 'deleteServer',
        summary: 'Remove a server',
        params,
        response: { 204: Type.Null(), ...errorResponses(404) }
      }
    },
    async (request, reply) => {
      await app.gateway.servers.remove(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}

/** Adds the routes that enable and disable a server and its items. */
function addSwitches(app: App): void {
  for (const [verb, enabled] of [['enable', true] as const, ['disable', false] as const]) {
    app.post(
      `/servers/:name/${verb}`,
      {
        config: admin,
        schema: {
          tags,
          operationId: `${verb}Server`,
          summary: enabled ? 'Enable a server' : 'Disable a server',
          description:
            'Returns the items whose visibility changed. A server that was saved without its lists must answer before it is enabled.',
          params,
          response: { 200: ref(ServerState), ...errorResponses(404, 502, 504) }
        }
      },
      (request) => app.gateway.servers.setEnabled(callerOf(request), request.params.name, enabled)
    )
  }

  app.get(
    '/servers/:name/switches',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'getServerSwitches',
        summary: 'Get the enabled states of a server and its items',
        description: 'Also available while the server is disabled.',
        params,
        response: { 200: ref(ServerSwitches), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.servers.switches(request.params.name)
  )

  app.patch(
    '/servers/:name/switches',
    {
      config: admin,
      schema: {
        tags,
        operationId: 'updateServerSwitches',
        summary: 'Change the enabled states of a server and its items',
        description: 'All or nothing. Absent items are unchanged; an item that the server does not offer is a 400.',
        params,
        body: ref(ServerSwitchesPatch),
        response: { 200: ref(ServerSwitches), ...errorResponses(404, 502, 504) }
      }
    },
    (request) => app.gateway.servers.setSwitches(callerOf(request), request.params.name, request.body)
  )
}

/** Adds the routes that record the contents of a server's calls for a time. */
function addRecording(app: App): void {
  const common = { tags, params }
  app.put(
    '/servers/:name/recording',
    {
      config: admin,
      schema: {
        ...common,
        operationId: 'recordServer',
        summary: 'Record the arguments and results of the calls of a server for a time',
        description:
          'Secrets are removed from them. The recording ends by itself, by the clock of the database, and when the address or command of the server changes; calling again sets a new end.',
        body: ref(RecordingInput),
        response: { 200: ref(Server), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.servers.record(callerOf(request), request.params.name, request.body.minutes ?? 60)
  )

  app.delete(
    '/servers/:name/recording',
    {
      config: admin,
      schema: {
        ...common,
        operationId: 'stopRecordingServer',
        summary: 'Stop recording the contents of the calls of a server',
        response: { 200: ref(Server), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.servers.record(callerOf(request), request.params.name, 0)
  )
}

/** Adds the route that sets the policy of a server for definitions, also while the server does not answer. */
function addDefinitionPolicy(app: App): void {
  app.put(
    '/servers/:name/definitions',
    {
      config: admin,
      schema: {
        tags,
        params,
        operationId: 'setServerDefinitions',
        summary: 'Set what is served of a server while its definitions differ from the accepted ones',
        description: 'The server is not contacted, and the rest of its configuration stays.',
        body: ref(DefinitionPolicyInput),
        response: { 200: ref(Server), ...errorResponses(404) }
      }
    },
    async (request) => {
      const { name } = request.params
      await app.gateway.definitions.setPolicy(callerOf(request), name, request.body.policy)
      return app.gateway.servers.get(callerOf(request), name)
    }
  )
}

function addRefresh(app: App): void {
  app.post(
    '/servers/:name/refresh',
    {
      config: admin,
      schema: {
        tags,
        operationId: 'refreshServer',
        summary: 'Refresh the lists of a server',
        params,
        response: { 200: ref(Refresh), ...errorResponses(404, 502, 504) }
      }
    },
    (request) => app.gateway.servers.refresh(callerOf(request), request.params.name)
  )
}

function addConfigs(app: App): void {
  app.get(
    '/server_configs',
    {
      config: admin,
      schema: {
        tags,
        operationId: 'listServerConfigs',
        summary: 'List server configurations with their secrets',
        description: 'Each item can be posted back unchanged.',
        response: { 200: Type.Array(ref(ServerInput)) }
      }
    },
    (request) => app.registry.configs(auditChange(callerOf(request), 'server_configs.read', '*'))
  )
}
