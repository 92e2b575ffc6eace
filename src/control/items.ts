import { splitName } from '../domain/names.ts'
import { notFound } from '../lib/errors.ts'
import type { ItemKind } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import type { Caller } from '../catalog/caller.ts'
import type { Catalog, CatalogServer, Item } from '../catalog/catalog.ts'
import { anyByName, anyByUri } from '../catalog/item-lookup.ts'
import { auditChange } from './audit-change.ts'
import { viewFor, type RestView } from './rest-view.ts'
import { itemRecord, itemRecords, restName } from './item-records.ts'

/** Operations on tools, prompts, resources and templates. Methods throw or reject with AppError. */
export interface Items {
  /**
   * Returns a JSON array of the caller's items of enabled servers; 404 for an unknown `server`, `[]` for a disabled one. The bytes
   * can be sent unchanged.
   */
  list(caller: Caller, kind: ItemKind, server?: string): Buffer
  /** Returns one item as JSON text, disabled or not. `name`: qualified name, or URI of a resource. 404. */
  get(caller: Caller, kind: ItemKind, name: string): string
  /** Enables or disables an item, or all items of a server; resolves with their names. 404. */
  setEnabled(caller: Caller, kind: ItemKind, entity: string, enabled: boolean): Promise<string[]>
  /**
   * Tests if a tool's input schema declares a property, to interpret a body with a single `arguments` member; false for
   * an unknown tool, whose call is refused and logged like any other.
   */
  hasToolProperty(caller: Caller, name: string, property: string): boolean
}

/** Names of the kinds of items in messages of errors. */
export const labels: Readonly<Record<ItemKind, string>> = {
  tool: 'tool',
  prompt: 'prompt',
  resource: 'resource',
  template: 'resource template',
  skill: 'skill'
}

/** Returns the tool or prompt with this qualified name; undefined for a name that the caller does not see. */
function seenNamed({ catalog, sees }: RestView, kind: 'tool' | 'prompt', name: string): Item | undefined {
  const split = splitName(name)
  const item = split && catalog.server(split.server)?.find(kind, split.name)
  return item && sees(item) ? item : undefined
}

/** Returns the tool or prompt with this qualified name. Throws a 404 AppError for a name that the caller does not see. */
export function findNamed(view: RestView, kind: 'tool' | 'prompt', name: string): Item {
  const item = seenNamed(view, kind, name)
  if (!item) throw notFound(labels[kind], name)
  return item
}

const restNames = (view: RestView, server: CatalogServer, kind: ItemKind, names: readonly string[]) =>
  names.map((name) => {
    const item = server.find(kind, name)
    return item ? restName(view, item) : name
  })

export const createItems = (registry: Pick<Registry, 'write'>, catalog: () => Catalog): Items => ({
  list(caller, kind, name) {
    const only = name === undefined ? undefined : catalog().server(name)
    if (name !== undefined && !only) throw notFound('server', name)
    return itemRecords(viewFor(catalog(), caller), kind, only)
  },

  get(caller, kind, name) {
    const view = viewFor(catalog(), caller)
    if (kind === 'tool' || kind === 'prompt') return itemRecord(view, findNamed(view, kind, name))
    const item = anyByUri(view.catalog, kind, name, view.scope, view.sees)
    if (!item) throw notFound(labels[kind], name)
    return itemRecord(view, item)
  },

  async setEnabled(caller, kind, entity, enabled) {
    const server = catalog().server(entity)
    const item = server ? undefined : anyByName(catalog(), kind, entity)
    const owner = server ?? item?.server
    if (!owner) throw notFound(`${kind} or server`, entity)
    const action = `${kind}.${enabled ? 'enable' : 'disable'}`
    const names = await registry.write(auditChange(caller, action, entity), async (tx) => {
      const affected = await tx.items.setEnabled(owner.name, kind, item ? [item.name] : null, enabled)
      if (kind === 'resource' && !item) await tx.items.setEnabled(owner.name, 'template', null, enabled)
      return affected
    })
    return restNames(viewFor(catalog(), caller), catalog().server(owner.name) ?? owner, kind, names)
  },

  hasToolProperty(caller, name, property) {
    const item = seenNamed(viewFor(catalog(), caller), 'tool', name)
    if (!item) return false
    const { definition } = item.stored
    const schema = JSON.parse(definition) as { inputSchema?: { properties?: object } }
    return Object.hasOwn(schema.inputSchema?.properties ?? {}, property)
  }
})
