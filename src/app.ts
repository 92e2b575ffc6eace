import { fileURLToPath } from 'node:url'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Config } from './config/config.ts'
import { VERSION } from './domain/version.ts'
import { readPolicyFile } from './control/policies/file.ts'
import { canonicalPath } from './catalog/endpoint.ts'
import type { Observer } from './observe/observation.ts'
import audit from './plugins/audit.ts'
import auth from './plugins/auth.ts'
import bodyBytes from './plugins/body-bytes.ts'
import clientAddress from './plugins/client-address.ts'
import { createCredentialReader } from './http/connection-credentials.ts'
import { boundConnections } from './http/connections.ts'
import { drain } from './plugins/drain.ts'
import external from './plugins/external.ts'
import errors, { answerClientError, sendFrameworkError } from './plugins/errors.ts'
import gateway from './plugins/gateway.ts'
import guard from './plugins/guard.ts'
import identity from './plugins/identity.ts'
import inTurn from './plugins/pipelining.ts'
import { createTurnQueue } from './lib/turn-queue.ts'
import jsonBody from './plugins/json-body.ts'
import type { WorkerPlace } from './http/siblings.ts'
import { shareClasses } from './http/shared-classes.ts'
import { ifAvailable } from './http/wait-for-database.ts'
import { watchOverload } from './http/overload.ts'
import openapi from './plugins/openapi.ts'
import registry from './plugins/registry.ts'
import siblingsPlugin from './plugins/siblings.ts'
import requestTurns from './plugins/request-turns.ts'
import { createRequestIds } from './http/request-ids.ts'
import telemetry from './plugins/telemetry.ts'
import { audit as auditLog } from './routes/audit.ts'
import { definitions } from './routes/definitions.ts'
import { calls } from './routes/calls.ts'
import { catalogue } from './routes/catalogue.ts'
import { concern } from './routes/concern.ts'
import { console as consolePages, dashboard } from './routes/dashboard/dashboard.ts'
import { init } from './routes/init.ts'
import { keys } from './routes/keys.ts'
import { authorizationServer } from './routes/identity/authorization-server.ts'
import { resourceMetadata } from './routes/identity/resource-metadata.ts'
import { signIn } from './routes/identity/sign-in.ts'
import { mcp } from './routes/mcp/mcp.ts'
import { principals } from './routes/principals/principals.ts'
import { approvals } from './routes/policies/approvals.ts'
import { policies } from './routes/policies/policies.ts'
import { prompts } from './routes/items/prompts.ts'
import { resources } from './routes/items/resources.ts'
import { skills } from './routes/items/skills.ts'
import { servers } from './routes/servers.ts'
import { sse } from './routes/mcp/sse.ts'
import { system } from './routes/system.ts'
import { toolGroups } from './routes/tool-groups.ts'
import { tools } from './routes/items/tools.ts'
import { clientDocument } from './upstream/oauth/client-document.ts'
import { upstreamClient, upstreamOAuth } from './routes/upstream-oauth.ts'
import { namedSchemas } from './schemas/named.ts'
import { compileSerializersLazily, compileValidatorsLazily } from './validation/compilers.ts'
import { buildValidator, formatFindings, refuseRepeatedQuery, refuseUnknownQuery } from './validation/validators.ts'

export interface BuildOptions {
  /** Receives one JSON line per event; absent: no log. */
  readonly log?: { write(line: string): void }
  /** Receives progress lines for the person who starts the gateway. */
  readonly onProgress?: (line: string) => void
  /** Called if a database that became reachable only after the start is unusable: nothing can be served. */
  readonly onFailure?: (error: unknown) => void
  /** Observers in addition to the configured metrics and traces. */
  readonly observers?: readonly Partial<Observer>[]
  /** Compiles the schemas of all routes before ready, instead of each on its first use. */
  readonly compileEagerly?: boolean
  /** Place among the workers of the port; absent if this process serves it alone. */
  readonly place?: WorkerPlace
  /** Folder of the dashboard's pages; default: the build's output folder. */
  readonly dashboardRoot?: string
}

const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Removes credentials of URLs, which errors of drivers and of the network may quote, and escapes the control characters
 * that JSON leaves unescaped. They occur only within JSON strings, so escaping the finished line is safe.
 */
const redactLines = (log: NonNullable<BuildOptions['log']>) => ({
  write: (line: string) =>
    log.write(line.replace(/:\/\/[^\s"/@]*@/g, '://***@').replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e]/g, unicode))
})

/** Path of `dist/dashboard`, for both the built program and its sources. */
const builtDashboard = () =>
  fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../dist/dashboard' : '../dashboard', import.meta.url))

/** Every option that differs from Fastify's default answers a measured weakness (security-model.md#http-hardening). */
const createServer = ({ limits, timeouts, logLevel: level }: Config, { log, compileEagerly }: BuildOptions) =>
  Fastify({
    logger: log ? { level, stream: redactLines(log) } : false,
    logController: new LogController({ disableRequestLogging: true }),
    http: {
      connectionsCheckingInterval: 2_000,
      headersTimeout: timeouts.requestBodyMs,
      maxHeaderSize: limits.headerBytes,
      // the guard answers with the gateway's own error body
      requireHostHeader: false
    },
    rewriteUrl: ({ url = '/' }) => canonicalPath(url),
    genReqId: createRequestIds(),
    requestTimeout: timeouts.requestBodyMs,
    bodyLimit: limits.restBodyBytes,
    // dashboard paths contain tool names and URIs; no route pattern is slow on long parameters
    routerOptions: { maxParamLength: 4_096 },
    // creating the store or migrating it has no time limit
    pluginTimeout: 0,
    forceCloseConnections: true,
    // the guard sends the 503 while closing, with the gateway's own error body
    return503OnClosing: false,
    allowErrorHandlerOverride: false,
    schemaController: {
      compilersFactory: compileEagerly
        ? { buildValidator }
        : { buildValidator: compileValidatorsLazily(buildValidator), buildSerializer: compileSerializersLazily }
    },
    schemaErrorFormatter: formatFindings,
    frameworkErrors: sendFrameworkError,
    clientErrorHandler: answerClientError
  }).withTypeProvider<TypeBoxTypeProvider>()

const logOverload = (log: FastifyBaseLogger, reason: string | undefined) =>
  reason === undefined
    ? log.warn('accepting new work again')
    : log.error({ reason }, 'the gateway is overloaded; new work is refused')

/** Builds the application: registers every plugin and route, in order. Does not listen. */
export async function buildApp(config: Config, options: BuildOptions = {}): Promise<FastifyInstance> {
  const {
    onProgress,
    observers = [],
    onFailure = (err) => app.log.fatal({ err }, 'the database cannot be used')
  } = options
  const app = createServer(config, options)
  shareClasses(app as unknown as FastifyInstance)
  // a child logger per request is a measurable part of a call's cost; the few lines about requests name the request
  // themselves
  app.setChildLoggerFactory((logger) => logger)
  const { mode, timeouts, limits, host, publicUrl, allowedHosts, allowedOrigins, initSecret } = config

  const { place } = options
  // one process alone does not load what workers need
  const siblings = place ? (await import('./http/siblings.ts')).createSiblings(place, limits) : null
  await app.register(clientAddress, { trustedProxies: config.trustedProxies, siblings })
  const connections = boundConnections(app.server, {
    ...limits,
    addresses: app.clientAddresses,
    onLimit: (reason) => app.log.warn({ reason }, 'connections are closed')
  })
  app.addHook('onClose', async () => connections.close())
  await app.register(errors)
  await app.register(inTurn, { ...limits, requestBodyMs: timeouts.requestBodyMs })
  await app.register(jsonBody, { limits })
  const load = watchOverload({
    ...limits,
    processes: place?.count ?? 1,
    onChange: (reason) => logOverload(app.log, reason),
    onShortage() {
      connections.closeStalled()
      siblings?.closeStalled()
      ifAvailable(() => app.gateway.endRetired())
    }
  })
  app.addHook('onReady', async () => load.start())
  app.addHook('onClose', async () => load.close())
  await app.register(telemetry, { otel: config.otel, traces: config.traces, version: VERSION, load, siblings })
  await app.register(guard, { load, mode, host, publicUrl, allowedHosts, allowedOrigins })
  await app.register(siblingsPlugin, { siblings })
  const readCredentials = createCredentialReader()
  await app.register(requestTurns, { mode, readCredentials })
  await app.register(auth, { mode, limits, readCredentials, auth: config.auth, publicUrl })
  await app.register(bodyBytes, { mode, limits })
  await app.register(openapi, { version: VERSION, schemas: namedSchemas, docs: config.docs, mode, publicUrl })
  const policyFile = config.policyFile === undefined ? undefined : await readPolicyFile(config.policyFile)
  await app.register(registry, { config, onProgress, onFailure })
  await app.register(gateway, {
    ...{ config, version: VERSION, policyFile, ownsId: siblings?.owns },
    observers: [...app.metrics.observers, ...observers]
  })
  await app.register(identity, { auth: config.auth, publicUrl })
  await app.register(external, { auth: config.auth, publicUrl })
  await app.register(audit)
  app.addHook('preValidation', (request, _reply, done) => {
    refuseRepeatedQuery(request.query)
    done()
  })

  await app.register(system, { version: VERSION, metricsToken: config.metricsToken })
  await app.register(concern('upstream-client', upstreamClient), { document: clientDocument(config) })
  await app.register(concern('init', init), { mode, initSecret })
  await app.register(
    async (api) => {
      api.addHook('preValidation', ({ query, routeOptions: { schema } }, _reply, done) => {
        refuseUnknownQuery(query, schema?.querystring)
        done()
      })
      await api.register(concern('servers', servers))
      await api.register(concern('catalogue', catalogue))
      await api.register(concern('upstream-oauth', upstreamOAuth))
      await api.register(concern('tools', tools))
      await api.register(concern('prompts', prompts))
      await api.register(concern('resources', resources))
      await api.register(concern('skills', skills))
      await api.register(concern('definitions', definitions))
      await api.register(concern('calls', calls))
      await api.register(concern('audit-log', auditLog))
      await api.register(concern('keys', keys))
      await api.register(concern('principals', principals), { mode, auth: config.auth, publicUrl })
      await api.register(concern('policies', policies))
      await api.register(concern('approvals', approvals))
      await api.register(concern('tool-groups', toolGroups), { publicUrl })
    },
    { prefix: '/api/v0' }
  )
  const bodies = { bodyLimit: limits.mcpBodyBytes, largeBodies: createTurnQueue() }
  await app.register(concern('mcp-proxy', mcp), bodies)
  await app.register(concern('mcp-proxy-sse', sse), { ...bodies, publicUrl })
  if (config.auth.way !== 'tokens') {
    const { auth } = config
    await app.register(concern('resource-metadata', resourceMetadata), { auth, publicUrl })
    if (auth.scimToken !== undefined) {
      const { scim } = await import('./routes/scim/scim.ts')
      await app.register(concern('scim', scim), { prefix: '/scim/v2', auth, publicUrl, limits })
    }
    if (auth.way === 'embedded') {
      await app.register(concern('sign-in', signIn), { auth, publicUrl, console: config.console, limits })
      await app.register(concern('authorization-server', authorizationServer), { auth, publicUrl })
    }
  }
  if (mode === 'development') {
    const root = options.dashboardRoot ?? builtDashboard()
    await app.register(concern('dashboard', dashboard), { publicUrl, config, root })
  }
  if (config.console) {
    const root = options.dashboardRoot ?? builtDashboard()
    await app.register(concern('console', consolePages), { publicUrl, config, root })
  }
  await app.register(drain, { drainMs: timeouts.drainMs })
  return app as unknown as FastifyInstance
}
