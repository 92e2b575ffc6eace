import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import type { Config } from '../config.ts'

/** Whether this process has so much to do that it must take no more (security page 5). */
export interface Load {
  /** Read at each request, so kept and not computed. */
  readonly isHigh: boolean
  /** Once there is something to serve: starting is much to do, and no load. */
  start(): void
  close(): void
}

export interface LoadOptions extends Pick<Config['limits'], 'heapPercent' | 'eventLoopLagMs'> {
  /** Told when it becomes high, with the reason, and undefined when it is over. */
  readonly onChange: (reason: string | undefined) => void
  readonly heap?: () => number
  readonly now?: () => number
}

const SAMPLE_MS = 500
/** One long turn of the event loop, or a machine that slept, is no load. */
const SUSTAINED_MS = 5_000
/** V8 adds its three semi-spaces to the limit, which the old generation cannot use (measured on Node.js 20). */
const YOUNG_BYTES = 48 * 1024 * 1024

/** Per cent of the old generation that are in use. What dies young is collected all the time and does not count. */
function heapInUse(): number {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_used_size ?? 0
  return (100 * (used - young)) / Math.max(limit - YOUNG_BYTES, 1)
}

/** Looks twice a second (30 µs); how late it comes is the lag of the event loop. */
export function watchLoad(options: LoadOptions): Load {
  const { heapPercent, eventLoopLagMs, onChange, heap = heapInUse, now = () => performance.now() } = options
  let reason: string | undefined
  let last = 0
  let timer: NodeJS.Timeout | undefined
  let lateSince: number | undefined

  const lagReason = (): string | undefined => {
    const at = now()
    const isLate = at - last - SAMPLE_MS > eventLoopLagMs
    // twice at least: a single late look may be a machine that slept
    const isSustained = isLate && lateSince !== undefined && at - lateSince >= SUSTAINED_MS
    if (!isLate) lateSince = undefined
    else lateSince ??= last
    last = at
    return isSustained ? 'the event loop lags' : undefined
  }
  const sample = () => {
    const lag = lagReason()
    const next = heap() > heapPercent ? 'the heap is nearly full' : lag
    if (next === reason) return
    reason = next
    onChange(reason)
  }
  return {
    get isHigh() {
      return reason !== undefined
    },
    start() {
      last = now()
      timer = setInterval(sample, SAMPLE_MS).unref()
    },
    close: () => clearInterval(timer)
  }
}
