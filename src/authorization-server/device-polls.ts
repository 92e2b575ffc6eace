import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** Codes whose last request is remembered. */
const MAX_CODES = 10_000
/** Time between two requests of a device, and what is added each time that it does not wait (RFC 8628 3.5). */
const INTERVAL_MS = 5_000
/** A request can arrive early, because the one before took longer to arrive. */
const TOLERANCE_MS = 1_000

/** Tells devices that ask too often for their tokens to slow down; on each replica by itself. */
export interface DevicePolls {
  /** Records a request. Returns true if it came too soon after the last one with the same code. */
  isTooSoon(deviceCode: string): boolean
}

export function createDevicePolls(now: () => number = () => performance.now()): DevicePolls {
  const polls = new LRUCache<string, { readonly at: number; readonly intervalMs: number }>({ max: MAX_CODES })
  return {
    isTooSoon(deviceCode) {
      const id = hash('sha256', deviceCode, 'base64')
      const at = now()
      const last = polls.get(id)
      const isTooSoon = last !== undefined && at - last.at < last.intervalMs - TOLERANCE_MS
      polls.set(id, { at, intervalMs: (last?.intervalMs ?? INTERVAL_MS) + (isTooSoon ? INTERVAL_MS : 0) })
      return isTooSoon
    }
  }
}
