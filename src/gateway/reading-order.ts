import { LRUCache } from 'lru-cache'
import type { Difference } from '../registry/items.ts'
import type { Change, Offer, StoredServer } from '../registry/model.ts'
import type { Registry } from '../registry/registry.ts'

/** Readings of one server's lists may overlap: what began earlier must not be stored over what began later. */
export interface ReadingOrder {
  /** Reads lists, and remembers when that began. */
  read(work: () => Promise<Offer>): Promise<Offer>
  /** Stores lists, unless this replica has stored a later reading of the server. */
  store(change: Change, server: StoredServer, offer: Offer): Promise<Difference>
}

const MAX_SERVERS = 10_000

const nothing: Difference = { added: [], removed: [], changed: [], unchanged: true }

export function createReadingOrder(registry: Pick<Registry, 'refresh'>): ReadingOrder {
  const beginnings = new WeakMap<Offer, number>()
  const stored = new LRUCache<string, number>({ max: MAX_SERVERS })
  let last = 0
  return {
    async read(work) {
      const begun = ++last
      const offer = await work()
      beginnings.set(offer, begun)
      return offer
    },
    async store(change, server, offer) {
      const begun = beginnings.get(offer) ?? ++last
      if ((stored.get(server.id) ?? 0) > begun) return nothing
      stored.set(server.id, begun)
      return registry.refresh(change, server.id, offer, server)
    }
  }
}
