import { AppError } from '../lib/errors.ts'
import type { ServerSecrets, StoredServer } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'

/**
 * Returns a server's secrets; none if they cannot be decrypted, so that it can still be listed, replaced and removed.
 */
export function secretsOrNone(registry: Pick<Registry, 'decryptSecrets'>, stored: StoredServer): ServerSecrets {
  try {
    return registry.decryptSecrets(stored)
  } catch (error) {
    if (error instanceof AppError) return {}
    throw error
  }
}
