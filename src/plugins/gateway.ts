import { setTimeout as delay } from 'node:timers/promises'
import fp from 'fastify-plugin'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { demoRegistration, isDemoRegistration } from '../demo/registration.ts'
import { PRODUCT } from '../domain/product.ts'
import { AppError, unavailable } from '../lib/errors.ts'
import { createCallLog, type CallLogOptions } from '../observe/call-log.ts'
import type { PolicyFile } from '../control/policies/file.ts'
import type { GatewayOptions } from '../gateway/base.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'
import type { Observer } from '../observe/observation.ts'
import type { Registry } from '../registry/registry.ts'
import { developmentCaller, type Caller } from '../catalog/caller.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Reading it throws a 503 AppError while the database is unavailable. */
    readonly gateway: Gateway
  }
}

export interface GatewayPluginOptions {
  readonly config: GatewayOptions['config'] & Pick<Config, 'adminToken' | 'callLog' | 'demo'>
  readonly version: string
  /** Tests if requests with an id reach this worker; undefined: all do. */
  readonly ownsId: GatewayOptions['ownsId']
  /** Policies of the policy file; absent if there is none. */
  readonly policyFile?: PolicyFile | undefined
  readonly observers: readonly Partial<Observer>[]
}

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

/** Starts the gateway, which loads the catalog and contacts no upstream. A failure leaves it closed. */
async function startGateway(app: FastifyInstance, registry: Registry, options: GatewayPluginOptions): Promise<Gateway> {
  const { config, version, policyFile, ownsId } = options
  const { mode, adminToken, callLog, demo } = config
  const { log } = app
  const listenAddresses = () => app.addresses().filter((place) => typeof place === 'object')
  const logged: CallLogOptions = {
    contents: callLog.contents,
    isRecorded: (server) => gateway.servers.isRecorded(server),
    heldSince: (call) => gateway.definitions.heldSince(call)
  }
  const observers = [...options.observers, ...(callLog.enabled ? [createCallLog(registry.calls, logged)] : [])]
  const gateway: Gateway = createGateway({
    ...{ registry, config, version, ownsId, listenAddresses, observers, log },
    filePolicies: policyFile?.policies
  })
  try {
    await gateway.start()
    if (mode === 'enterprise' && adminToken !== undefined) await bootstrap(gateway, adminToken, log)
    if (demo) await registerDemo(gateway, log)
    return gateway
  } catch (error) {
    await gateway.close()
    throw error
  }
}

/** Starts the gateway on the registry as soon as the database is reachable. */
export default fp<GatewayPluginOptions>(
  async (app, options) => {
    let gateway: Gateway | undefined
    const { policyFile } = options
    if (policyFile) {
      const { digest: sha256, policies } = policyFile
      app.log.info({ policies: policies.length, sha256 }, 'policies were read from the policy file')
    }
    app.decorate('gateway', {
      getter() {
        if (!gateway) throw unavailable('the registry database is not reachable')
        return gateway
      }
    })
    app.startOnRegistry(async (registry) => {
      const started = await startGateway(app, registry, options)
      gateway = started
      return () => started.close()
    })
  },
  { name: 'gateway', dependencies: ['registry'] }
)
