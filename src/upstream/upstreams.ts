import type { Transport } from '../domain/transports.ts'
import type { StoredServer } from '../registry/model/model.ts'
import { envelopePayload } from '../registry/crypto/envelope-encryption.ts'
import type { Catalog, CatalogServer } from '../catalog/catalog.ts'
import type { BreakerState } from './sessions/breaker.ts'
import type { SessionCounts } from './sessions/upstream-sessions.ts'
import type { MayReclaim, SlotPool } from './sessions/slot-pool.ts'
import type { StartTimes } from './sessions/start-meter.ts'
import type { Upstream } from './upstream.ts'

/** Upstreams of the servers in the catalog, created on first use. */
export interface Upstreams {
  get(server: CatalogServer): Upstream
  /** Keeps upstreams with the same configuration; the others are closed when their calls have ended. */
  prune(catalog: Catalog): void
  /**
   * Frees a slot of `pool`: closes a spare session, else the session of any server that has been idle for longest among
   * those that `mayEnd` allows. Returns false if there is none.
   */
  reclaim(pool: SlotPool, mayEnd: MayReclaim): boolean
  /** Returns the state of the circuit breaker of each server in use. */
  breakers(): [server: string, state: BreakerState][]
  /** Returns the number of calls in progress. */
  countActiveCalls(): number
  /** Returns the number of spare sessions of each server in use that may have spare sessions. */
  countSpareSessions(): [server: string, transport: Transport, ready: number][]
  /** Closes the spare sessions of a server, by name, because they may be outdated. */
  discardSpareSessions(server: string): void
  /** Closes all spare sessions and opens no more. */
  closeSparePools(): void
  /** Ends the calls in progress at servers that were removed, disabled or changed since. */
  endRetired(): void
  /** Returns the numbers of sessions of a server, by its id. */
  sessionCounts(id: string): SessionCounts
  /** Returns what starts and calls of a server took, by its id; undefined if it is not known or of no interest. */
  startTimes(id: string): StartTimes | undefined
  /** Sends a notification on the upstream sessions of an owner. */
  notifyOwner(owner: string, method: string): void
  closeOwner(owner: string): void
  close(): void
}

interface Entry {
  /** Latest row with this configuration. */
  stored: StoredServer
  readonly configuration: string
  readonly upstream: Upstream
}

/**
 * Serializes everything that a connection depends on; `enabled` flags, lists and the encryption key are not part of it.
 */
export function configurationOf(stored: StoredServer): string {
  const { transport, session_mode, settings, sealed, negotiation, issuer } = stored
  const wire = negotiation && [negotiation.modern, negotiation.legacy, negotiation.hasSessions]
  const secrets = sealed && Buffer.from(envelopePayload(sealed)).toString('base64')
  return JSON.stringify([transport, session_mode, settings, secrets, wire, issuer])
}

export function createUpstreams(create: (server: StoredServer) => Upstream): Upstreams {
  const entries = new Map<string, Entry>()
  /** Upstreams that are no longer in the catalog and whose calls have not ended yet. */
  const retired = new Set<Upstream>()

  const all = () => [...[...entries.values()].map(({ upstream }) => upstream), ...retired]
  let hasSparePools = true
  /** Discards spare sessions on any change, because the server's program may have been updated, for example. */
  const updateRow = (entry: Entry, stored: StoredServer) => {
    if (entry.stored.revision !== stored.revision) entry.upstream.discardSpareSessions()
    entry.stored = stored
  }
  const mustReplace = (entry: Entry, stored: StoredServer | undefined) =>
    !stored?.enabled || (entry.stored !== stored && entry.configuration !== configurationOf(stored))

  return {
    get({ stored }) {
      const known = entries.get(stored.id)
      if (known) return known.upstream
      const entry: Entry = { stored, configuration: configurationOf(stored), upstream: create(stored) }
      if (!hasSparePools) entry.upstream.closeSparePool()
      entries.set(stored.id, entry)
      return entry.upstream
    },
    prune({ servers }) {
      const current = new Map(servers.map(({ stored }) => [stored.id, stored]))
      for (const [id, entry] of entries) {
        const now = current.get(id)
        if (!mustReplace(entry, now)) {
          updateRow(entry, now!)
          continue
        }
        entries.delete(id)
        const { upstream } = entry
        retired.add(upstream)
        upstream.retire(() => retired.delete(upstream))
      }
    },
    reclaim(pool, mayEnd) {
      const idle = all().flatMap((upstream) => upstream.findLongestIdle(pool, mayEnd) ?? [])
      const [longest] = idle.sort((a, b) => a.since - b.since)
      longest?.close()
      return longest !== undefined
    },
    countActiveCalls: () => all().reduce((sum, { active }) => sum + active, 0),
    sessionCounts: (id) => entries.get(id)?.upstream.counts() ?? { open: 0, idle: 0, spare: undefined },
    startTimes: (id) => entries.get(id)?.upstream.startTimes(),
    countSpareSessions: () =>
      [...entries.values()].flatMap(({ stored: { name, transport }, upstream }) => {
        const { spare } = upstream.counts()
        return spare === undefined ? [] : [[name, transport, spare]]
      }),
    discardSpareSessions(server) {
      for (const { stored, upstream } of entries.values()) if (stored.name === server) upstream.discardSpareSessions()
    },
    closeSparePools() {
      hasSparePools = false
      for (const { upstream } of entries.values()) upstream.closeSparePool()
    },
    endRetired() {
      for (const upstream of retired) upstream.close()
      retired.clear()
    },
    breakers: () => [...entries.values()].map(({ stored, upstream }) => [stored.name, upstream.breaker]),
    notifyOwner(owner, method) {
      for (const upstream of all()) upstream.notifyOwner(owner, method)
    },
    closeOwner(owner) {
      for (const upstream of all()) upstream.closeOwner(owner)
    },
    close() {
      for (const upstream of all()) upstream.close()
      entries.clear()
      retired.clear()
    }
  }
}
