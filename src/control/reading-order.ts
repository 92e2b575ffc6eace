import { LRUCache } from 'lru-cache'
import type { ListDifference } from '../registry/repositories/items.ts'
import type { Change, UpstreamOffer, StoredServer } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import { unavailable } from '../lib/errors.ts'
import { withTimeout } from '../lib/with-timeout.ts'

/** Keeps overlapping reads of one server's lists in order: an earlier read never overwrites a later one. */
export interface ReadingOrder {
  /** Runs `work`, which reads the lists, and records when it began. */
  read(work: () => Promise<UpstreamOffer>): Promise<UpstreamOffer>
  /**
   * Stores lists, one read of a server after the other. If this replica stores a later read of the same server, it waits
   * until that is stored and resolves to no difference: the catalog then has lists at least as new as the caller's. Rejects
   * with 503 if other writes of the server take longer than the limit.
   */
  store(change: Change, server: StoredServer, offer: UpstreamOffer): Promise<ListDifference>
}

interface StoredReading {
  /** Sequence number, assigned when the read begins. */
  readonly sequence: number
  /** Resolves when the write has ended; false if it failed. */
  readonly isStored: Promise<boolean>
  /** True until the write has ended. */
  isInFlight: boolean
}

const MAX_SERVERS = 10_000

const noDifference: ListDifference = { added: [], removed: [], changed: [], unchanged: true }

/** `maxWaitMs` limits the wait for other writes of the same server. */
export function createReadingOrder(registry: Pick<Registry, 'refresh'>, maxWaitMs: number): ReadingOrder {
  const sequenceNumbers = new WeakMap<UpstreamOffer, number>()
  const latest = new LRUCache<string, StoredReading>({ max: MAX_SERVERS })
  let last = 0
  return {
    async read(work) {
      const sequence = ++last
      const offer = await work()
      sequenceNumbers.set(offer, sequence)
      return offer
    },
    async store(change, server, offer) {
      const sequence = sequenceNumbers.get(offer) ?? ++last
      const deadline = performance.now() + maxWaitMs
      for (let other = latest.get(server.id); other; other = latest.get(server.id)) {
        if (other.isInFlight) await withTimeout(deadline - performance.now(), other.isStored)
        if (other.isInFlight) throw unavailable(`other lists of server "${server.name}" are still being stored`)
        if (other.sequence > sequence && (await other.isStored)) return noDifference
        if (latest.get(server.id) === other) break
      }
      const write = registry.refresh(change, server.id, offer, server)
      const isStored = write.then(
        () => true,
        () => false
      )
      const reading = { sequence, isStored, isInFlight: true }
      latest.set(server.id, reading)
      void isStored.then(() => (reading.isInFlight = false))
      return write
    }
  }
}
