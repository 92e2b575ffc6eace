import type { ServerStatus } from '../../schemas/server-status.ts'
import type { CatalogServer } from '../../catalog/catalog.ts'
import type { ServerHealth, HealthReader } from './server-health.ts'
import type { ConfigSummary } from '../../schemas/dashboard/servers.ts'

const isAuthorization = (key: string) => key.toLowerCase() === 'authorization'

/** Returns true if a sign-in is possible; a configured credential has to be replaced instead. */
const canSignIn = ({ kind, has_bearer_token, header_keys = [] }: ConfigSummary) =>
  kind === 'http' && !has_bearer_token && !header_keys.some(isAuthorization)

const statusOfHealth = ({ isHealthy, reason }: ServerHealth, summary: ConfigSummary): ServerStatus => {
  if (isHealthy) return 'connected'
  return reason === 'auth' && canSignIn(summary) ? 'sign_in_needed' : 'failing'
}

/**
 * Returns the status by the last contact, except that a disabled server is `disabled`
 * (dashboard.md#status-and-outcomes).
 */
export function statusOf({ name, enabled }: CatalogServer, health: HealthReader, summary: ConfigSummary): ServerStatus {
  if (!enabled) return 'disabled'
  if (health.isConnecting(name)) return 'connecting'
  const contact = health.get(name)
  return contact ? statusOfHealth(contact, summary) : 'unknown'
}
