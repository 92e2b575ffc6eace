import type { Caller } from '../../catalog/caller.ts'
import type { Catalog, CatalogServer, Item } from '../../catalog/catalog.ts'
import type { ItemKind } from '../../registry/model/model.ts'
import { viewFor } from '../rest-view.ts'

/** Numbers of a server's items. */
interface ItemCounts {
  readonly tool_count: number
  readonly prompt_count: number
  readonly resource_count: number
  readonly skill_count: number
}

/** Parts of the catalog that the pages show: administrators and auditors see all, users what they may use. */
export interface VisibleParts {
  servers(caller: Caller): readonly CatalogServer[]
  items(caller: Caller, server: CatalogServer, kind: ItemKind): readonly Item[]
  /** Returns the items that the global endpoint serves to the caller. */
  served(caller: Caller, kind: ItemKind): readonly Item[]
  countServed(caller: Caller, kind: ItemKind): number
  /** Returns the numbers of a server's items as far as they differ for the caller. */
  countsOf(caller: Caller, server: CatalogServer): Partial<ItemCounts>
}

export function createVisibleParts(catalog: () => Catalog): VisibleParts {
  const usable = (caller: Caller, server: CatalogServer, kind: ItemKind): Item[] => {
    const { sees } = viewFor(catalog(), caller)
    return server.items(kind).filter((item) => item.enabled && sees(item))
  }
  const served = (caller: Caller, kind: ItemKind) =>
    viewFor(catalog(), caller).scope.servers.flatMap((server) => usable(caller, server, kind))
  return {
    servers: (caller) => (caller.kind === 'user' ? viewFor(catalog(), caller).scope.servers : catalog().servers),
    items: (caller, server, kind) => (caller.kind === 'user' ? usable(caller, server, kind) : server.items(kind)),
    served,
    countServed: (caller, kind) => served(caller, kind).length,
    countsOf(caller, server) {
      if (caller.kind !== 'user') return {}
      const countOf = (kind: ItemKind) => usable(caller, server, kind).length
      return {
        tool_count: countOf('tool'),
        prompt_count: countOf('prompt'),
        resource_count: countOf('resource') + countOf('template'),
        skill_count: countOf('skill')
      }
    }
  }
}
