import { qualifiedName } from '../domain/names.ts'
import { notFound } from '../lib/errors.ts'
import type { ItemKind, UpstreamOffer, StoredServer } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import type { Attempts, Purpose } from './attempts.ts'
import { kinds, type Catalog, type CatalogServer } from '../catalog/catalog.ts'
import { auditChange } from './audit-change.ts'
import type { Registration } from './registration.ts'
import { secretsOrNone } from './readable-secrets.ts'
import {
  leftOutNumber,
  leftOutRecord,
  recordedUntil,
  serverRecord,
  type LeftOutRecord,
  type ServerRecord
} from './server-records.ts'
import { storeSwitches, switchesOf, type SwitchesPatch, type SwitchesRecord } from './server-switches.ts'
import type { Target } from '../upstream/transports.ts'
import { administrators, toAppError, UpstreamFailure } from '../protocol/upstream-failure.ts'
import type { Caller } from '../catalog/caller.ts'
import { costOfCallsFor } from './start-costs.ts'
import type { StartTimes } from '../upstream/sessions/start-meter.ts'

/** Changes found by a refresh of a server's lists: qualified names, or URIs of resources and templates. */
export interface RefreshResult extends LeftOutRecord {
  readonly name: string
  readonly added: string[]
  readonly removed: string[]
  readonly changed: string[]
}

/** Result of enabling or disabling a server: qualified names of the items that this affects. */
export interface ServerStateResult {
  readonly name: string
  readonly tools_affected: string[]
  readonly prompts_affected: string[]
}

/** Operations on registered servers (http-contract.md#server-object). Methods throw or reject with AppError. */
export interface Servers extends Registration {
  /** Returns all servers. Values of `env` are masked for callers with the role `user`. */
  list(caller: Caller): ServerRecord[]
  /** Returns one server; for administrators and auditors with the items that are not served. 404. */
  get(caller: Caller, name: string): ServerRecord
  /** Removes a server and its items. 404. */
  remove(caller: Caller, name: string): Promise<void>
  /** Reads the lists of a server again and stores them. 404, 502. */
  refresh(caller: Caller, name: string): Promise<RefreshResult>
  /** Enables or disables a server. One that was saved without its lists must answer first. 404, 502. */
  setEnabled(caller: Caller, name: string, enabled: boolean): Promise<ServerStateResult>
  /** Records the contents of a server's calls for some minutes; 0 ends that. 404. */
  record(caller: Caller, name: string, minutes: number): Promise<ServerRecord>
  /** Returns true while the contents of a server's calls are recorded. */
  isRecorded(name: string): boolean
  /** Returns the enabled flags of a server and its items. 404. */
  switches(name: string): SwitchesRecord
  /** Sets the given flags in one transaction. 400 names unknown items, 404. */
  setSwitches(caller: Caller, name: string, patch: SwitchesPatch): Promise<SwitchesRecord>
}

export interface ServersOptions {
  readonly registration: Registration
  readonly registry: Registry
  readonly attempts: Attempts
  catalog(): Catalog
  /** Connects to an upstream and reads its lists. Rejects with UpstreamFailure. */
  readOffer(target: Target): Promise<UpstreamOffer>
  targetOf(stored: StoredServer): Target
  /** Returns what starts and calls of a server took, by its id. */
  startTimes(id: string): StartTimes | undefined
}

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

export function createServers(options: ServersOptions): Servers {
  const { registration, registry, attempts, catalog, readOffer, targetOf, startTimes } = options

  const find = (name: string): CatalogServer => {
    const server = catalog().server(name)
    if (!server) throw notFound('server', name)
    return server
  }
  const record = (caller: Caller, server: CatalogServer) => ({
    ...serverRecord(server, secretsOrNone(registry, server.stored), caller),
    ...costOfCallsFor(caller, startTimes(server.stored.id))
  })
  const fullRecord = (caller: Caller, server: CatalogServer) => ({
    ...record(caller, server),
    ...leftOutRecord(server, caller)
  })

  const read = (caller: Caller, purpose: Purpose, stored: StoredServer) =>
    attempts.run(caller, purpose, { ...targetOf(stored), negotiation: null }, readOffer).catch((error: unknown) => {
      throw error instanceof UpstreamFailure ? toAppError(error, stored.name, administrators) : error
    })
  /** Reads and stores the lists of a server that was saved without them, before it is enabled. */
  const readFirstLists = async (caller: Caller, name: string) => {
    // another replica may have saved the server a moment ago
    await registry.catchUp()
    const stored = catalog().server(name)?.stored
    if (!stored || stored.negotiation !== null) return
    const offer = await read(caller, 'server.enable', stored)
    await registry.refresh(auditChange(caller, 'server.refresh', name), stored.id, offer, stored)
  }

  return {
    ...registration,

    list: (caller) => catalog().servers.map((server) => ({ ...record(caller, server), ...leftOutNumber(server) })),
    get: (caller, name) => fullRecord(caller, find(name)),

    async remove(caller, name) {
      await registry.write(auditChange(caller, 'server.remove', name), (tx) => tx.servers.remove(name))
    },

    async refresh(caller, name): Promise<RefreshResult> {
      const { stored } = find(name)
      const atRequest = catalog().server(name)
      const offer = await read(caller, 'server.refresh', stored)
      const beforeWrite = catalog().server(name)
      const written = await registry.refresh(auditChange(caller, 'server.refresh', name), stored.id, offer, stored)
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
        ...leftOutRecord(after, caller)
      }
    },

    async setEnabled(caller, name, enabled) {
      if (enabled) await readFirstLists(caller, name)
      const action = enabled ? 'server.enable' : 'server.disable'
      const { changed, tools, prompts } = await registry.write(auditChange(caller, action, name), (tx) =>
        tx.servers.setEnabled(name, enabled)
      )
      const server = catalog().server(name)
      const publicName = (kind: ItemKind, own: string) =>
        server?.find(kind, own)?.publicName ?? qualifiedName(name, own)
      const publicNamesOf = (kind: ItemKind, own: readonly string[]) =>
        changed ? own.map((each) => publicName(kind, each)) : []
      return { name, tools_affected: publicNamesOf('tool', tools), prompts_affected: publicNamesOf('prompt', prompts) }
    },

    async record(caller, name, minutes) {
      const action = minutes > 0 ? 'server.record' : 'server.record_end'
      await registry.write(auditChange(caller, action, name), (tx) => tx.servers.setRecording(name, minutes))
      return fullRecord(caller, find(name))
    },

    isRecorded(name) {
      const stored = catalog().server(name)?.stored
      return stored !== undefined && recordedUntil(stored) !== undefined
    },

    switches: (name) => switchesOf(find(name)),

    async setSwitches(caller, name, patch) {
      if (patch.enabled) await readFirstLists(caller, name)
      await registry.write(auditChange(caller, 'server.switch', name), (tx) => storeSwitches(tx, name, patch))
      return switchesOf(find(name))
    }
  }
}
