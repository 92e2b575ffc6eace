import fp from 'fastify-plugin'
import type { Config } from '../config.ts'
import { openRegistry, type Registry } from '../registry/registry.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly registry: Registry
  }
}

export type RegistryPluginOptions = Pick<
  Config,
  | 'mode'
  | 'databaseUrl'
  | 'directDatabaseUrl'
  | 'dataDir'
  | 'encryptionKey'
  | 'previousKey'
  | 'auditRetentionDays'
  | 'timeouts'
> & { tell?: ((line: string) => void) | undefined }

/** Opens the database before anything listens; a database that cannot be used stops the start. */
export default fp<RegistryPluginOptions>(
  async (
    app,
    { mode, databaseUrl, directDatabaseUrl, dataDir, encryptionKey, previousKey, auditRetentionDays, timeouts, tell }
  ) => {
    const registry = await openRegistry({
      mode,
      databaseUrl,
      directDatabaseUrl,
      dataDir,
      encryptionKey,
      previousKey,
      auditRetentionDays,
      connectTimeoutMs: timeouts.databaseConnectMs,
      queryTimeoutMs: timeouts.databaseQueryMs,
      onCreate: () => tell?.(`creating the embedded store in ${dataDir}; this takes some seconds, once`),
      onIdleError: (err) => app.log.warn({ err }, 'an idle database connection was lost'),
      onError: (err) =>
        app.log.warn({ err }, 'the registry database cannot be followed or written to; serving what is known')
    })
    app.addHook('onClose', () => registry.close())
    app.decorate('registry', registry)
  },
  { name: 'registry', dependencies: ['errors'] }
)
