import { invalid } from '../lib/errors.ts'
import type { ItemKind } from '../registry/model/model.ts'
import type { Transaction } from '../registry/registry.ts'
import type { CatalogServer } from '../catalog/catalog.ts'

/** Enabled flags of a server and of its items, by names and URIs at the server. */
export interface SwitchesPatch {
  readonly enabled?: boolean
  readonly tools?: Readonly<Record<string, boolean>>
  readonly prompts?: Readonly<Record<string, boolean>>
  readonly resources?: Readonly<Record<string, boolean>>
  readonly templates?: Readonly<Record<string, boolean>>
  readonly skills?: Readonly<Record<string, boolean>>
}
export type SwitchesRecord = Required<SwitchesPatch> & { readonly name: string }

const kinds = [
  ['tools', 'tool'],
  ['prompts', 'prompt'],
  ['resources', 'resource'],
  ['templates', 'template'],
  ['skills', 'skill']
] as const satisfies readonly (readonly [keyof SwitchesPatch, ItemKind])[]

const enabledByName = (server: CatalogServer, kind: ItemKind): Record<string, boolean> =>
  Object.fromEntries(server.items(kind).map(({ name, stored }) => [name, stored.enabled]))

/** Returns the `enabled` flags of a server and of each item, which records combine into one for a disabled server. */
export const switchesOf = (server: CatalogServer): SwitchesRecord => ({
  name: server.name,
  enabled: server.enabled,
  tools: enabledByName(server, 'tool'),
  prompts: enabledByName(server, 'prompt'),
  resources: enabledByName(server, 'resource'),
  templates: enabledByName(server, 'template'),
  skills: enabledByName(server, 'skill')
})

/**
 * Stores `enabled` flags of a server and its items. Throws 400 with the names of items that the server does not offer.
 */
export async function storeSwitches(tx: Transaction, name: string, patch: SwitchesPatch): Promise<void> {
  for (const [member, kind] of kinds) {
    for (const enabled of [true, false]) {
      const names = Object.entries(patch[member] ?? {}).flatMap(([own, is]) => (is === enabled ? [own] : []))
      if (names.length === 0) continue
      const known = new Set(await tx.items.setEnabled(name, kind, names, enabled))
      const unknown = names.filter((own) => !known.has(own))
      if (unknown.length > 0)
        throw invalid(`"${member}" has names that server "${name}" does not offer: ${unknown.join(', ')}`)
    }
  }
  if (patch.enabled !== undefined) await tx.servers.setEnabled(name, patch.enabled)
}
