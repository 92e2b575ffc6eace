import { SKILLS_EXTENSION, TASKS_EXTENSION, UI_EXTENSION } from '../../domain/mcp-constants.ts'
import { declaredExtension } from '../../catalog/extensions.ts'
import type { CatalogServer } from '../../catalog/catalog.ts'
import type { Scope } from '../../catalog/scope.ts'
import type { Era } from '../../upstream/transport/connection.ts'
import { servesModern } from '../../upstream/upstream.ts'

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
    declare: ({ servers, catalog }, era) =>
      // a call that waits for a yes is a task of the gateway itself
      era === 'modern' &&
      (catalog.permits.policies.asking.size > 0 ||
        servers.some((server) => servesModern(server.stored) && hasTasks(server)))
        ? {}
        : undefined
  },
  {
    id: SKILLS_EXTENSION,
    declare(scope) {
      const declared = scope.wholeServers.map((server) => declaredExtension(server, SKILLS_EXTENSION))
      if (declared.every((value) => value === undefined)) return undefined
      return declared.some((value) => value?.['directoryRead'] === true) ? { directoryRead: true } : {}
    }
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
