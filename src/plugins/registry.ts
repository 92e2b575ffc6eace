import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/config.ts'
import { timeLeft } from '../domain/timers.ts'
import { openWithRetry } from '../http/wait-for-database.ts'
import { AppError, unavailable } from '../lib/errors.ts'
import { openRegistry, type Registry } from '../registry/registry.ts'
import { causeOf } from './errors.ts'

/** Starts the gateway on an open registry, and resolves with the function that closes it. A failure leaves it closed. */
export type StartOnRegistry = (registry: Registry) => Promise<() => Promise<void>>

declare module 'fastify' {
  interface FastifyInstance {
    /** Reading it throws a 503 AppError while the database is unavailable. */
    readonly registry: Registry
    /**
     * Starts the gateway once the registry is open, and closes it before the registry. A failed start closes the registry;
     * after a 503, both are tried again. The app is ready when the gateway has started, or without it when the database
     * is not reachable; any other error ends the start. To be called once, before the app is ready.
     */
    readonly startOnRegistry: (start: StartOnRegistry) => void
  }
}

export interface RegistryPluginOptions {
  readonly config: Pick<
    Config,
    | 'mode'
    | 'databaseUrl'
    | 'directDatabaseUrl'
    | 'dataDir'
    | 'encryptionKey'
    | 'previousKey'
    | 'auditRetentionDays'
    | 'callLog'
    | 'timeouts'
  >
  readonly onProgress: ((line: string) => void) | undefined
  /** Called if the database proves unusable after the start. */
  readonly onFailure: (error: unknown) => void
}

/**
 * Time to wait for the database before listening without it (not ready). A database that starts together with the
 * gateway is usually up by then.
 */
const START_WAIT_MS = 3_000

/** Log fields of an error: an expected failure without its stack. */
const detailsOf = (error: unknown) =>
  error instanceof AppError ? { reason: error.message, ...causeOf(error) } : { err: error }

/** Opens the registry and logs its reports in the app's log. Rejects like `openRegistry`. */
function openAppRegistry({ log }: FastifyInstance, { config, onProgress }: RegistryPluginOptions): Promise<Registry> {
  const { mode, databaseUrl, directDatabaseUrl, dataDir, encryptionKey, previousKey, timeouts } = config
  return openRegistry({
    mode,
    databaseUrl,
    directDatabaseUrl,
    dataDir,
    encryptionKey,
    previousKey,
    auditRetentionDays: config.auditRetentionDays,
    callRetention: config.callLog.retention,
    connectTimeoutMs: timeouts.databaseConnectMs,
    queryTimeoutMs: timeouts.databaseQueryMs,
    onCreate: () => onProgress?.(`creating the embedded store in ${dataDir}; this takes some seconds, once`),
    onIdleError: (err) => log.warn({ err }, 'an idle database connection was lost'),
    onError: (error) =>
      log.warn(detailsOf(error), 'the registry database is not available; serving the last known state')
  })
}

/**
 * Opens the registry before the process listens, and closes it with the app. If PostgreSQL is unavailable, the process
 * listens, reports not ready, and serves as soon as the database is reachable.
 */
export default fp<RegistryPluginOptions>(
  async (app, options) => {
    const { config, onFailure } = options
    let registry: Registry | undefined
    let startGateway: StartOnRegistry | undefined
    let closeGateway: (() => Promise<void>) | undefined
    /** True once an attempt starts the gateway, until it fails. */
    let isStarting = false

    const open = async () => {
      registry ??= await openAppRegistry(app, options)
      if (!startGateway) return
      isStarting = true
      try {
        closeGateway = await startGateway(registry)
      } catch (error) {
        isStarting = false
        await registry.close()
        registry = undefined
        throw error
      }
    }
    const keepOpening = () =>
      openWithRetry({
        open,
        onRetry: ({ cause: err }) => app.log.warn({ err }, 'the registry database is not reachable; waiting for it'),
        onFailure
      })

    app.decorate('registry', {
      getter() {
        if (!registry) throw unavailable('the registry database is not reachable')
        return registry
      }
    })
    // what follows, such as the routes, is registered while the database opens
    let opening = keepOpening()
    app.decorate('startOnRegistry', (start: StartOnRegistry) => {
      startGateway = start
    })
    app.addHook('onReady', async () => {
      const deadline = config.databaseUrl === undefined ? Infinity : performance.now() + START_WAIT_MS
      await opening.started(timeLeft(deadline))
      // without a registry the attempts go on, and the next one that opens it starts the gateway too
      if (!registry || isStarting || !startGateway) return
      opening = keepOpening()
      await opening.started(timeLeft(deadline))
    })
    app.addHook('onClose', async () => {
      await opening.close()
      await closeGateway?.()
      await registry?.close()
    })
  },
  { name: 'registry', dependencies: ['errors'] }
)
