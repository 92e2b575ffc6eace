import { totalmem } from 'node:os'
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Config } from '../config.ts'

/** Whether this process has so much to do, or so little memory left, that it must take no more work. */
export interface Load {
  /** Read at each request, so kept and not computed. */
  readonly isHigh: boolean
  /** Once there is something to serve: starting is much to do, and no load. */
  start(): void
  close(): void
}

export interface LoadOptions extends Pick<
  Config['limits'],
  'heapPercent' | 'memoryPercent' | 'memoryLimitBytes' | 'eventLoopLagMs'
> {
  /** Told when it becomes high, with the reason, and undefined when it is over. */
  readonly onChange: (reason: string | undefined) => void
  /** Called at each look at which memory is short: frees what can be done without. */
  readonly onShortage?: () => void
  /** Per cent of the heap's limit in use. */
  readonly heap?: () => number
  /** Bytes of memory that the process takes, buffers and code included; undefined where the system does not say. */
  readonly resident?: () => number | undefined
  /** Bytes of that which objects and buffers use. */
  readonly live?: () => number
  /** Collects garbage. */
  readonly collect?: () => void
  readonly now?: () => number
}

const SAMPLE_MS = 500
/** One long turn of the event loop, or a machine that slept, is no load. */
const SUSTAINED_MS = 5_000
/** A full collection takes 30 ms in a small heap and seconds in a large one: it gets a twentieth of the time. */
const MIN_COLLECT_EVERY_MS = 1_000
const COLLECT_SHARE = 1 / 20
/** V8 adds its three semi-spaces to the limit, which the old generation cannot use (measured on Node.js 20). */
const YOUNG_BYTES = 48 * 1024 * 1024

/** Per cent of the old generation that are in use. What dies young is collected all the time and does not count. */
function heapInUse(): number {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_used_size ?? 0
  return (100 * (used - young)) / Math.max(limit - YOUNG_BYTES, 1)
}

/** Memory that this process may take: the limit of its control group (version 1 or 2), else that of the machine. */
function availableBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/**
 * Bytes of memory that this process takes; undefined where the system does not say: Linux without `/proc`, as in a chroot
 * or a sandbox.
 */
export function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss()
  } catch {
    return undefined
  }
}

/** Bytes of objects, buffers and WebAssembly memories, garbage included. */
function liveBytes(): number {
  const { used_heap_size: used, external_memory: external } = getHeapStatistics()
  return used + external
}

/**
 * Live bytes up to which work is taken although more than `max` bytes are resident. Allocators keep freed pages, glibc most
 * of those of small buffers, and use them again: resident memory alone would stay high, and work refused, for ever. The
 * more is resident, the less may be live, since pages of one kind (buffers, objects) do not serve the other. `least`: live
 * bytes of a process with nothing to do.
 */
function allowedLive(resident: number, max: number, least: number): number {
  return Math.max(0.7 * max - 2 * (resident - max), 0.4 * max, least + 0.1 * max)
}

/** V8 collects when it allocates; while work is refused it would keep garbage, and the memory would stay short. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options?: { type: 'minor' }) => void
  gc()
  // buffers are subtracted from `external` by the collection after the one that frees them
  gc({ type: 'minor' })
}

/** Says how late the event loop is where it is so for long. */
function watchLag({ eventLoopLagMs, now = () => performance.now() }: LoadOptions) {
  let last = 0
  let lateSince: number | undefined
  return {
    start() {
      last = now()
    },
    reason(): string | undefined {
      const at = now()
      const isLate = at - last - SAMPLE_MS > eventLoopLagMs
      // twice at least: a single late look may be a machine that slept
      const isSustained = isLate && lateSince !== undefined && at - lateSince >= SUSTAINED_MS
      if (!isLate) lateSince = undefined
      else lateSince ??= last
      last = at
      return isSustained ? 'the event loop lags' : undefined
    }
  }
}

/** Says whether more is resident and live than there should be. Once it is, 5 % less is demanded. */
function watchResident(options: LoadOptions) {
  const { memoryPercent, memoryLimitBytes = availableBytes() } = options
  const { resident = residentBytes, live = liveBytes } = options
  const max = (memoryLimitBytes * memoryPercent) / 100
  let least = Infinity
  return (wasShort: boolean): boolean => {
    const share = wasShort ? 0.95 : 1
    const used = live()
    const bytes = resident() ?? used
    least = Math.min(least, used)
    return bytes > share * max && used > share * allowedLive(bytes, max, least)
  }
}

/** Says which memory is short, after garbage was collected. */
function watchMemory(options: LoadOptions) {
  const { heapPercent, onShortage, heap = heapInUse } = options
  const { collect = collectGarbage, now = () => performance.now() } = options
  const isShort = watchResident(options)
  let last: string | undefined
  let nextCollection = -Infinity
  const look = () => {
    if (heap() > heapPercent) return 'the heap is nearly full'
    return isShort(last !== undefined) ? 'the memory is nearly full' : undefined
  }
  const lookTwice = () => {
    const reason = look()
    if (reason === undefined) return undefined
    onShortage?.()
    const start = now()
    if (start < nextCollection) return reason
    collect()
    const end = now()
    nextCollection = end + Math.max(MIN_COLLECT_EVERY_MS, (end - start) / COLLECT_SHARE)
    return look()
  }
  return {
    reason: () => (last = lookTwice())
  }
}

/** Looks twice a second (100 µs); how late it comes is the lag of the event loop. */
export function watchLoad(options: LoadOptions): Load {
  const { onChange } = options
  const lag = watchLag(options)
  const memory = watchMemory(options)
  let reason: string | undefined
  let timer: NodeJS.Timeout | undefined

  const sample = () => {
    const late = lag.reason()
    const next = memory.reason() ?? late
    if (next === reason) return
    reason = next
    onChange(reason)
  }
  return {
    get isHigh() {
      return reason !== undefined
    },
    start() {
      lag.start()
      timer = setInterval(sample, SAMPLE_MS).unref()
    },
    close: () => clearInterval(timer)
  }
}
