import { objectOr } from '../../domain/is-object.ts'
import { TASKS_EXTENSION, UI_EXTENSION } from '../../domain/mcp-constants.ts'
import type { CatalogServer } from '../../catalog/catalog.ts'
import type { Scope } from '../../catalog/scope.ts'
import type { Era } from '../../upstream/transport/connection.ts'
import { servesModern } from '../../upstream/upstream.ts'

/**
 * Returns what a server declared for an extension when its lists were read, in the era that they were read with;
 * undefined if it did not declare the extension. The declaration is stored with the server, so it is known after a
 * restart and to all replicas.
 */
export function declaredExtension(
  { stored }: CatalogServer,
  id: string
): Readonly<Record<string, unknown>> | undefined {
  const declared = objectOr(stored.negotiation?.capabilities.extensions, null)
  return declared && Object.hasOwn(declared, id) ? objectOr(declared[id], {}) : undefined
}

/** An extension that the gateway carries. */
interface Extension {
  readonly id: string
  /** Returns the value to declare to a caller of this era, or undefined if nothing in scope has the extension. */
  declare(scope: Scope, era: Era): object | undefined
}

const hasTasks = (server: CatalogServer) => declaredExtension(server, TASKS_EXTENSION) !== undefined

/** Extensions in the order in which they are declared; an unknown extension is never declared. */
const extensions: readonly Extension[] = [
  {
    id: UI_EXTENSION,
    declare: (scope) =>
      scope.servers.some(({ appTools }) => appTools.some((tool) => scope.includes(tool))) ? {} : undefined
  },
  {
    id: TASKS_EXTENSION,
    declare: ({ servers }, era) =>
      era === 'modern' && servers.some((server) => servesModern(server.stored) && hasTasks(server)) ? {} : undefined
  }
]

/**
 * Returns the extensions to declare with `initialize` or `server/discover` (mcp-proxy.md#extensions), undefined if
 * there are none.
 */
export function extensionsOf(scope: Scope, era: Era): Record<string, object> | undefined {
  const declared = extensions.flatMap(({ id, declare }) => {
    const value = declare(scope, era)
    return value === undefined ? [] : [[id, value] as const]
  })
  return declared.length === 0 ? undefined : Object.fromEntries(declared)
}
