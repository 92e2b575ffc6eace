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
  /** Bytes of memory that the process takes, buffers and code included. */
  readonly resident?: () => number
  /** Collects garbage. */
  readonly collect?: () => void
  readonly now?: () => number
}

const SAMPLE_MS = 500
/** One long turn of the event loop, or a machine that slept, is no load. */
const SUSTAINED_MS = 5_000
/** A full collection may take half a second. */
const COLLECT_EVERY_MS = 10_000
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

/** V8 collects when it allocates; while work is refused it would keep garbage, and the memory would stay short. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
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

/** Says which memory is short, after garbage was collected. */
function watchMemory(options: LoadOptions) {
  const { heapPercent, memoryPercent, memoryLimitBytes = availableBytes(), onShortage } = options
  const { heap = heapInUse, resident = () => process.memoryUsage.rss() } = options
  const { collect = collectGarbage, now = () => performance.now() } = options
  const maxResident = (memoryLimitBytes * memoryPercent) / 100
  let collectedAt = -Infinity
  const look = () => {
    if (heap() > heapPercent) return 'the heap is nearly full'
    return resident() > maxResident ? 'the memory is nearly full' : undefined
  }
  return {
    reason(): string | undefined {
      const reason = look()
      if (reason === undefined) return undefined
      onShortage?.()
      if (now() - collectedAt < COLLECT_EVERY_MS) return reason
      collect()
      collectedAt = now()
      return look()
    }
  }
}

/** Looks twice a second (50 µs); how late it comes is the lag of the event loop. */
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
