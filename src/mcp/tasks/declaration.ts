import type { CatalogServer } from '../../catalog/catalog.ts'
import { TASKS_EXTENSION } from '../../domain/mcp-constants.ts'
import { codes, ProtocolError } from '../../protocol/jsonrpc.ts'
import { servesModern } from '../../upstream/upstream.ts'
import type { RequestContext } from '../sessions/request-context.ts'

/** Returns the capabilities to declare to a server, as JSON text: tasks only where both sides are modern. */
export const capabilitiesFor = (
  { capabilities, taskCapabilities }: Pick<RequestContext, 'capabilities' | 'taskCapabilities'>,
  { stored }: CatalogServer
): string => (taskCapabilities !== undefined && servesModern(stored) ? taskCapabilities : capabilities)

/**
 * Returns the caller's capabilities with the tasks extension. Throws ProtocolError -32021 if it does not declare the
 * extension.
 */
export function requireTasks({ taskCapabilities, message: { id } }: RequestContext): string {
  if (taskCapabilities !== undefined) return taskCapabilities
  throw new ProtocolError(codes.missingCapability, 'Missing required client capability', {
    id,
    data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } }
  })
}
