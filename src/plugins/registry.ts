import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { AppError } from '../lib/errors.ts'
import { causeOf } from './errors.ts'
import { openRegistry, type Registry } from '../registry/registry.ts'

export type RegistrySettings = Pick<
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
> & { readonly onProgress?: ((line: string) => void) | undefined }

/** Log fields of an error: an expected failure without its stack. */
const detailsOf = (error: unknown) =>
  error instanceof AppError ? { reason: error.message, ...causeOf(error) } : { err: error }

/** Opens the registry and logs its reports in the app's log. Rejects like `openRegistry`. */
export const openAppRegistry = (
  { log }: Pick<FastifyInstance, 'log'>,
  settings: RegistrySettings
): Promise<Registry> => {
  const { mode, databaseUrl, directDatabaseUrl, dataDir, encryptionKey, previousKey, timeouts, onProgress } = settings
  return openRegistry({
    mode,
    databaseUrl,
    directDatabaseUrl,
    dataDir,
    encryptionKey,
    previousKey,
    auditRetentionDays: settings.auditRetentionDays,
    callRetention: settings.callLog.retention,
    connectTimeoutMs: timeouts.databaseConnectMs,
    queryTimeoutMs: timeouts.databaseQueryMs,
    onCreate: () => onProgress?.(`creating the embedded store in ${dataDir}; this takes some seconds, once`),
    onIdleError: (err) => log.warn({ err }, 'an idle database connection was lost'),
    onError: (error) =>
      log.warn(detailsOf(error), 'the registry database is not available; serving the last known state')
  })
}
