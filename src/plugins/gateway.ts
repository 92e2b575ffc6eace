import { setTimeout as delay } from 'node:timers/promises'
import fp from 'fastify-plugin'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { demoRegistration, isDemoRegistration } from '../demo/registration.ts'
import { PRODUCT } from '../domain/product.ts'
import { MAX_TIMER_MS } from '../domain/timers.ts'
import { AppError, unavailable } from '../lib/errors.ts'
import { createCallLog } from '../observe/call-log.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'
import type { Observer } from '../observe/observation.ts'
import type { Registry } from '../registry/registry.ts'
import { openWithRetry, lazyProxy } from '../http/wait-for-database.ts'
import { openAppRegistry, type RegistrySettings } from './registry.ts'
import { developmentCaller, type Caller } from '../catalog/caller.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Accessing a member throws a 503 AppError while the database is unavailable; the same holds for `registry`. */
    readonly gateway: Gateway
    readonly registry: Registry
  }
}

export type GatewayPluginOptions = RegistrySettings &
  Pick<
    Config,
    | 'adminToken'
    | 'traceContext'
    | 'stdio'
    | 'egress'
    | 'resultSecrets'
    | 'limits'
    | 'spareSessions'
    | 'toolNames'
    | 'refreshIntervalMs'
    | 'staleLimitS'
    | 'demo'
  > & {
    readonly version: string
    readonly observers: readonly Partial<Observer>[]
    /** Called if the database proves unusable after the start. */
    readonly onFailure: (error: unknown) => void
  }

/** Services that need the database. */
interface OpenServices {
  readonly registry: Registry
  readonly gateway: Gateway
}

/**
 * Time to wait for the database before listening without it (not ready). A database that starts together with the
 * gateway is usually up by then.
 */
const START_WAIT_MS = 3_000

const SYNC_TIMEOUT_MS = 10_000
const SYNC_POLL_MS = 20

/** The operator who started the process; acts without a token. */
const startupCaller: Caller = { ...developmentCaller, kind: 'admin', name: PRODUCT, key: PRODUCT }

/**
 * Registers the demo server; a failure is logged and does not stop the start. Replaces the demo of another
 * installation, but no other server with its name.
 */
async function registerDemo(gateway: Gateway, log: FastifyBaseLogger): Promise<void> {
  const config = demoRegistration()
  const known = gateway.servers.list(startupCaller).find(({ name }) => name === config.name)
  if (known && !isDemoRegistration(known)) {
    return log.warn(`--demo has no effect: another server is registered as "${config.name}"`)
  }
  if (known && JSON.stringify(known.args) === JSON.stringify(config.args)) return
  try {
    await gateway.servers.register(startupCaller, config, { force: true })
  } catch (err) {
    log.error({ err }, 'the demo server could not be registered')
  }
}

/**
 * Waits until the initialisation by another replica is visible here: a ready gateway must not report itself as
 * uninitialised.
 */
async function waitUntilInitialized(gateway: Gateway): Promise<void> {
  for (let waitedMs = 0; !gateway.initialized; waitedMs += SYNC_POLL_MS) {
    if (waitedMs > SYNC_TIMEOUT_MS)
      throw unavailable('another replica has initialised the database, and this one has not loaded it yet')
    await delay(SYNC_POLL_MS)
  }
}

/**
 * Initialises an empty database with the configured token. If several replicas race, one wins and the others serve its
 * state.
 */
async function bootstrap(gateway: Gateway, token: string, log: FastifyBaseLogger): Promise<void> {
  if (gateway.initialized) return
  try {
    await gateway.principals.initialize({}, token)
    log.info('initialized with the configured administrator token')
  } catch (error) {
    if (!(error instanceof AppError) || error.statusCode !== 409) throw error
    await waitUntilInitialized(gateway)
  }
}

/** Opens the registry and the gateway and loads the catalog; contacts no upstream. A failure leaves nothing open. */
async function open(app: FastifyInstance, options: GatewayPluginOptions): Promise<OpenServices> {
  const { version, mode, adminToken, callLog, demo } = options
  const { log } = app
  const registry = await openAppRegistry(app, options)
  const listenAddresses = () => app.addresses().filter((place) => typeof place === 'object')
  const observers = [
    ...options.observers,
    ...(callLog.enabled ? [createCallLog(registry.calls, callLog.contents)] : [])
  ]
  const gateway = createGateway({ registry, config: options, version, listenAddresses, observers, log })
  try {
    await gateway.start()
    if (mode === 'enterprise' && adminToken !== undefined) await bootstrap(gateway, adminToken, log)
    if (demo) await registerDemo(gateway, log)
    return { registry, gateway }
  } catch (error) {
    await gateway.close()
    await registry.close()
    throw error
  }
}

/**
 * Opens the registry and the gateway before the process listens. If PostgreSQL is unavailable, the process listens,
 * reports not ready, and serves as soon as the database is reachable.
 */
export default fp<GatewayPluginOptions>(
  async (app, options) => {
    const { databaseUrl, onFailure } = options
    let opened: OpenServices | undefined
    const get = (): OpenServices => {
      if (!opened) throw unavailable('the registry database is not reachable')
      return opened
    }
    const gateway = lazyProxy(() => get().gateway)
    const registry = lazyProxy(() => get().registry)
    app.decorate('gateway', { getter: () => gateway })
    app.decorate('registry', { getter: () => registry })

    const opening = openWithRetry({
      async open() {
        opened = await open(app, options)
      },
      startWaitMs: databaseUrl === undefined ? MAX_TIMER_MS : START_WAIT_MS,
      onRetry: ({ cause: err }) => app.log.warn({ err }, 'the registry database is not reachable; waiting for it'),
      onFailure
    })
    app.addHook('onClose', async () => {
      await opening.close()
      await opened?.gateway.close()
      await opened?.registry.close()
    })
    await opening.started
  },
  { name: 'gateway', dependencies: ['errors'] }
)
