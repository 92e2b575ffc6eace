import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Config } from '../config/config.ts'

/** Tells whether this process must refuse new work, because the event loop lags or memory is short. */
export interface OverloadMonitor {
  /** Cached, because each request reads it. */
  readonly isOverloaded: boolean
  /** Starts sampling. Call once ready: the start itself lags the event loop. */
  start(): void
  close(): void
}

export interface OverloadOptions extends Pick<
  Config['limits'],
  'heapPercent' | 'memoryPercent' | 'memoryLimitBytes' | 'eventLoopLagMs'
> {
  /** Processes that share the memory; default: 1. */
  readonly processes?: number
  /** Called with the reason when overload begins or changes, and with undefined when it ends. */
  readonly onChange: (reason: string | undefined) => void
  /** Called at each sample at which memory is short, to free dispensable memory. */
  readonly onShortage?: () => void
  /** Per cent of the heap limit in use. */
  readonly heap?: () => number
  /** Resident bytes, including buffers and code; undefined if the system does not report them. */
  readonly resident?: () => number | undefined
  /** Resident bytes used by objects and buffers. */
  readonly live?: () => number
  /** Runs a garbage collection. */
  readonly collect?: () => void
  readonly now?: () => number
}

const SAMPLE_MS = 500
/** A single long event-loop turn, or a suspended machine, is not an overload. */
const SUSTAINED_MS = 5_000
/**
 * A full collection takes 30 ms with a small heap and seconds with a large one; collections get at most a twentieth of
 * the time.
 */
const MIN_COLLECT_EVERY_MS = 1_000
const COLLECT_SHARE = 1 / 20
/** V8's heap limit includes three semi-spaces, which the old generation cannot use (measured on Node.js 20). */
const YOUNG_BYTES = 48 * 1024 * 1024

/** Returns the per cent of the old generation in use. Young objects are collected all the time and do not count. */
function heapInUse(): number {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_used_size ?? 0
  return (100 * (used - young)) / Math.max(limit - YOUNG_BYTES, 1)
}

/** Returns the resident bytes; undefined if unknown: Linux without `/proc`, as in a chroot or sandbox. */
export function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss()
  } catch {
    return undefined
  }
}

/** Returns the bytes of objects, buffers and WebAssembly memories, garbage included. */
function liveBytes(): number {
  const { used_heap_size: used, external_memory: external } = getHeapStatistics()
  return used + external
}

/**
 * Returns the live bytes up to which work is accepted although more than `max` bytes are resident. Allocators keep
 * freed pages for reuse (glibc most of those of small buffers), so by resident memory alone the overload would never
 * end. The more is resident, the less may be live, since pages of one kind (buffers, objects) do not serve the other.
 * `least`: live bytes of the idle process.
 */
function maxLiveBytes(resident: number, max: number, least: number): number {
  return Math.max(0.7 * max - 2 * (resident - max), 0.4 * max, least + 0.1 * max)
}

/** Collects garbage: V8 collects only when it allocates, so while work is refused memory would stay short. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options?: { type: 'minor' }) => void
  gc()
  // buffers are subtracted from `external` by the collection after the one that frees them
  gc({ type: 'minor' })
}

/** Reports a lag of the event loop that lasts `SUSTAINED_MS`. */
function watchLag({ eventLoopLagMs, now = () => performance.now() }: OverloadOptions) {
  let last = 0
  let lateSince: number | undefined
  return {
    start() {
      last = now()
    },
    reason(): string | undefined {
      const at = now()
      const isLate = at - last - SAMPLE_MS > eventLoopLagMs
      // at least two samples: a single late one may be a machine that slept
      const isSustained = isLate && lateSince !== undefined && at - lateSince >= SUSTAINED_MS
      if (!isLate) lateSince = undefined
      else lateSince ??= last
      last = at
      return isSustained ? 'the event loop lags' : undefined
    }
  }
}

/** Reports whether resident and live memory exceed the limit; once exceeded, the limit is 5 % lower (hysteresis). */
function watchResident(options: OverloadOptions) {
  const { memoryPercent, memoryLimitBytes, processes = 1 } = options
  const { resident = residentBytes, live = liveBytes } = options
  const max = (memoryLimitBytes * memoryPercent) / 100 / processes
  let baseline = Infinity
  return (wasShort: boolean): boolean => {
    const share = wasShort ? 0.95 : 1
    const used = live()
    const bytes = resident() ?? used
    baseline = Math.min(baseline, used)
    return bytes > share * max && used > share * maxLiveBytes(bytes, max, baseline)
  }
}

/** Reports which memory is short, after collecting garbage. */
function watchMemory(options: OverloadOptions) {
  const { heapPercent, onShortage, heap = heapInUse } = options
  const { collect = collectGarbage, now = () => performance.now() } = options
  const isShort = watchResident(options)
  let last: string | undefined
  let nextCollection = -Infinity
  const checkMemory = () => {
    if (heap() > heapPercent) return 'the heap is nearly full'
    return isShort(last !== undefined) ? 'the memory is nearly full' : undefined
  }
  const checkAfterCollection = () => {
    const reason = checkMemory()
    if (reason === undefined) return undefined
    onShortage?.()
    const start = now()
    if (start < nextCollection) return reason
    collect()
    const end = now()
    nextCollection = end + Math.max(MIN_COLLECT_EVERY_MS, (end - start) / COLLECT_SHARE)
    return checkMemory()
  }
  return {
    reason: () => (last = checkAfterCollection())
  }
}

/** Samples memory and event-loop lag twice a second (100 µs each); the delay of the sample itself is the lag. */
export function watchOverload(options: OverloadOptions): OverloadMonitor {
  const { onChange } = options
  const lag = watchLag(options)
  const memory = watchMemory(options)
  let reason: string | undefined
  let timer: NodeJS.Timeout | undefined

  const sample = () => {
    const lagReason = lag.reason()
    const next = memory.reason() ?? lagReason
    if (next === reason) return
    reason = next
    onChange(reason)
  }
  return {
    get isOverloaded() {
      return reason !== undefined
    },
    start() {
      lag.start()
      timer = setInterval(sample, SAMPLE_MS).unref()
    },
    close: () => clearInterval(timer)
  }
}
