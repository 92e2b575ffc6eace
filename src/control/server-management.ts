import { notFound } from '../lib/errors.ts'
import type { ItemKind, UpstreamOffer, StoredServer } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import type { Attempts } from './attempts.ts'
import { kinds, type Catalog, type CatalogServer } from '../catalog/catalog.ts'
import { auditChange } from './audit-change.ts'
import type { Gateway, RefreshResult } from './gateway.ts'
import { secretsOrNone } from './readable-secrets.ts'
import type { ReadingOrder } from './reading-order.ts'
import { leftOutRecord, restName, serverRecord } from './records.ts'
import { anyByName } from '../catalog/scope.ts'
import { storeSwitches, switchesOf } from './server-switches.ts'
import type { Target } from '../upstream/transports.ts'
import { toAppError, UpstreamFailure } from '../protocol/upstream-failure.ts'
import type { Caller } from '../catalog/caller.ts'

/** Dependencies of `createManagement`. */
export interface ManagementOptions {
  readonly registry: Registry
  readonly readings: ReadingOrder
  readonly attempts: Attempts
  catalog(): Catalog
  /** Connects to an upstream and reads its lists. Rejects with UpstreamFailure. */
  readOffer(target: Target): Promise<UpstreamOffer>
  targetOf(stored: StoredServer): Target
}

type Management = Pick<
  Gateway,
  'servers' | 'server' | 'remove' | 'refresh' | 'setServerEnabled' | 'setItemsEnabled' | 'switches' | 'setSwitches'
>

/** Compares the listed items of a server in two catalogs. */
function compareItems(before: CatalogServer | undefined, after: CatalogServer | undefined) {
  const itemsOf = (server: CatalogServer | undefined) => kinds.flatMap((kind) => [...(server?.items(kind) ?? [])])
  const added = itemsOf(after).filter(({ kind, name }) => !before?.find(kind, name))
  const removed = itemsOf(before).filter(({ kind, name }) => !after?.find(kind, name))
  const changed = itemsOf(after).filter(({ kind, name, stored }) => {
    const old = before?.find(kind, name)
    return old !== undefined && old.stored.definition !== stored.definition
  })
  return { added, removed, changed }
}

/** Creates the operations on registered servers and on the `enabled` flags of servers and items. */
export function createManagement(options: ManagementOptions): Management {
  const { registry, readings, attempts, catalog, readOffer, targetOf } = options

  const find = (name: string): CatalogServer => {
    const server = catalog().server(name)
    if (!server) throw notFound('server', name)
    return server
  }
  const record = (caller: Caller, server: CatalogServer) =>
    serverRecord(server, secretsOrNone(registry, server.stored), caller)
  const fullRecord = (caller: Caller, server: CatalogServer) => ({
    ...record(caller, server),
    ...leftOutRecord(server, true)
  })

  const publicNames = (server: CatalogServer, kind: ItemKind, names: readonly string[]) =>
    names.map((name) => {
      const item = server.find(kind, name)
      return item ? restName(catalog(), item) : name
    })

  return {
    servers: (caller) =>
      catalog().servers.map((server) => ({ ...record(caller, server), ...leftOutRecord(server, false) })),
    server: (caller, name) => fullRecord(caller, find(name)),

    async remove(caller, name) {
      await registry.write(auditChange(caller, 'server.remove', name), (tx) => tx.servers.remove(name))
    },

    async refresh(caller, name): Promise<RefreshResult> {
      const { stored } = find(name)
      const atRequest = catalog().server(name)
      const target = { ...targetOf(stored), verdict: null }
      const offer = await attempts.run(caller, 'server.refresh', target, readOffer).catch((error: unknown) => {
        throw error instanceof UpstreamFailure ? toAppError(error, name) : error
      })
      const beforeWrite = catalog().server(name)
      const written = await readings.store(auditChange(caller, 'server.refresh', name), stored, offer)
      const after = catalog().server(name)
      // a read in the background may have stored the same lists since the request
      const isStoredByOther = written.unchanged && after?.stored.id === stored.id
      const before = isStoredByOther ? atRequest : beforeWrite
      const difference = isStoredByOther ? compareItems(before, after) : written
      const publicNameOf = (server: CatalogServer | undefined, { kind, name: own }: { kind: ItemKind; name: string }) =>
        server?.find(kind, own)?.publicName ?? own
      return {
        name,
        added: difference.added.map((ref) => publicNameOf(after, ref)),
        removed: difference.removed.map((ref) => publicNameOf(before, ref)),
        changed: difference.changed.map((ref) => publicNameOf(after, ref)),
        ...leftOutRecord(after, true)
      }
    },

    async setServerEnabled(caller, name, enabled) {
      const action = enabled ? 'server.enable' : 'server.disable'
      const { changed, tools, prompts } = await registry.write(auditChange(caller, action, name), (tx) =>
        tx.servers.setEnabled(name, enabled)
      )
      const server = catalog().server(name)
      const publicName = (kind: ItemKind, own: string) => server?.find(kind, own)?.publicName ?? `${name}__${own}`
      const publicNamesOf = (kind: ItemKind, own: readonly string[]) =>
        changed ? own.map((each) => publicName(kind, each)) : []
      return { name, tools_affected: publicNamesOf('tool', tools), prompts_affected: publicNamesOf('prompt', prompts) }
    },

    switches: (_caller, name) => switchesOf(find(name)),

    async setSwitches(caller, name, patch) {
      await registry.write(auditChange(caller, 'server.switch', name), (tx) => storeSwitches(tx, name, patch))
      return switchesOf(find(name))
    },

    async setItemsEnabled(caller, kind, entity, enabled) {
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
      return publicNames(catalog().server(owner.name) ?? owner, kind, names)
    }
  }
}
