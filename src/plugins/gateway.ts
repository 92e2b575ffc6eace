import { setTimeout as delay } from 'node:timers/promises'
import fp from 'fastify-plugin'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { demoRegistration, isDemoRegistration } from '../demo/registration.ts'
import { PRODUCT } from '../domain/product.ts'
import { AppError, unavailable } from '../errors.ts'
import { createCallLog } from '../gateway/call-log.ts'
import { createGateway, type RunningGateway } from '../gateway/create-gateway.ts'
import type { Observer } from '../gateway/observation.ts'
import { developmentCaller, type Caller } from '../gateway/gateway.ts'
import type { Registry } from '../registry/registry.ts'
import { openLate, standIn } from './late.ts'
import { openFor, type RegistrySettings } from './registry.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Throws a 503 AppError while the database is not there yet, as does `registry`. */
    readonly gateway: RunningGateway
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
    /** The database turned out to be unusable after the start. */
    readonly onFailure: (error: unknown) => void
  }

/** What needs the database. */
interface Opened {
  readonly registry: Registry
  readonly gateway: RunningGateway
}

/** Past it the process listens and says that it is not ready: a database that starts with it is there by then. */
const PATIENCE_MS = 3_000

const HEAR_MS = 10_000
const HEAR_POLL_MS = 20

/** Whoever started the process; nobody asks it for a token. */
const atStart: Caller = { ...developmentCaller, kind: 'admin', name: PRODUCT, key: PRODUCT }

/** A failure costs the demo, not the start. Another installation's demo is replaced, any other server of its name is not. */
async function registerDemo(gateway: RunningGateway, log: FastifyBaseLogger): Promise<void> {
  const config = demoRegistration()
  const known = gateway.servers(atStart).find(({ name }) => name === config.name)
  if (known && !isDemoRegistration(known)) {
    return log.warn(`--demo has no effect: another server is registered as "${config.name}"`)
  }
  if (known && JSON.stringify(known.args) === JSON.stringify(config.args)) return
  try {
    await gateway.register(atStart, config, { force: true })
  } catch (err) {
    log.error({ err }, 'the demo server could not be registered')
  }
}

/** What another replica has done arrives here within a moment; who is ready must not say that nobody has. */
async function hearOfIt(gateway: RunningGateway): Promise<void> {
  for (let waitedMs = 0; !gateway.initialized; waitedMs += HEAR_POLL_MS) {
    if (waitedMs > HEAR_MS) throw unavailable('another replica has initialised the database, which is not known here')
    await delay(HEAR_POLL_MS)
  }
}

/** Of several replicas that start on an empty database one wins, and the others serve what it made. */
async function bootstrap(gateway: RunningGateway, token: string, log: FastifyBaseLogger): Promise<void> {
  if (gateway.initialized) return
  try {
    await gateway.initialize({}, token)
    log.info('initialized with the configured access token of an administrator')
  } catch (error) {
    if (!(error instanceof AppError) || error.statusCode !== 409) throw error
    await hearOfIt(gateway)
  }
}

/** Loads the catalog; contacts no upstream by itself. A failure leaves nothing open. */
async function open(app: FastifyInstance, options: GatewayPluginOptions): Promise<Opened> {
  const { version, mode, adminToken, callLog, demo } = options
  const { log } = app
  const registry = await openFor(app, options)
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
 * The registry and the gateway on it, before anything listens. PostgreSQL may come later: then the process listens, is
 * not ready, and serves as soon as the database is there.
 */
export default fp<GatewayPluginOptions>(
  async (app, options) => {
    const { databaseUrl, onFailure } = options
    let opened: Opened | undefined
    const get = (): Opened => {
      if (!opened) throw unavailable('the registry database is not reachable')
      return opened
    }
    const gateway = standIn(() => get().gateway)
    const registry = standIn(() => get().registry)
    app.decorate('gateway', { getter: () => gateway })
    app.decorate('registry', { getter: () => registry })

    const late = openLate({
      async open() {
        opened = await open(app, options)
      },
      patienceMs: databaseUrl === undefined ? 2 ** 31 - 1 : PATIENCE_MS,
      onWait: ({ cause: err }) => app.log.warn({ err }, 'the registry database is not reachable; waiting for it'),
      onFailure
    })
    app.addHook('onClose', async () => {
      await late.close()
      await opened?.gateway.close()
      await opened?.registry.close()
    })
    await late.started
  },
  { name: 'gateway', dependencies: ['errors'] }
)
