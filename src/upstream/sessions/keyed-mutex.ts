import type { Call } from '../transport/call.ts'

/** A call's hold on the lock of its key. */
export interface MutexLease {
  /** 0, unless earlier calls are waiting for their clients. */
  readonly lane: number
  /** Releases the lock to the next call. */
  release(): void
}

/**
 * Mutex by key: calls of one key run one at a time, in order. While the running call waits for its client, which may
 * take minutes, the next one runs in another lane. If every lane waits for its client, the deadlines of queued calls
 * are paused.
 */
export interface KeyedMutex {
  /** Waits for the lock; rejects with the call's failure if the call is stopped first. */
  acquire(key: string, call: Call): Promise<MutexLease>
}

/** A call that waits for the lock. */
interface Waiter {
  readonly call: Call
  readonly grant: (lane: number) => void
  /** True while its deadlines are paused. */
  isPaused: boolean
}

interface KeyLanes {
  /** Running calls by lane. */
  readonly calls: (Call | undefined)[]
  readonly queue: Waiter[]
}

/** Each lane may cost a process. */
const MAX_LANES = 4

/** Returns the first lane without a call, if the calls in all lanes before it wait for their clients. */
function freeLane({ calls }: KeyLanes): number | undefined {
  for (let lane = 0; lane < MAX_LANES; lane++) {
    const call = calls[lane]
    if (!call) return lane
    if (!call.isPaused) return undefined
  }
  return undefined
}

function setPaused(waiter: Waiter, isHeld: boolean): void {
  if (waiter.isPaused === isHeld) return
  waiter.isPaused = isHeld
  if (isHeld) waiter.call.pauseClock()
  else waiter.call.resumeClock()
}

function grantNext(lanes: KeyLanes): void {
  const { calls, queue } = lanes
  while (queue.length > 0) {
    const lane = freeLane(lanes)
    if (lane === undefined) break
    const next = queue.shift()!
    setPaused(next, false)
    next.grant(lane)
  }
  const areAllPaused = calls.every((call) => call?.isPaused)
  for (const waiter of queue) setPaused(waiter, areAllPaused)
}

export function createKeyedMutex(): KeyedMutex {
  /** Lanes of every key that is locked. */
  const lanesByKey = new Map<string, KeyLanes>()

  const wait = (lanes: KeyLanes, call: Call) =>
    new Promise<number>((resolve, reject) => {
      const grant = (lane: number) => {
        call.onStop = null
        lanes.calls[lane] = call
        resolve(lane)
      }
      const waiter: Waiter = { call, grant, isPaused: false }
      lanes.queue.push(waiter)
      call.onStop = (failure) => {
        lanes.queue.splice(lanes.queue.indexOf(waiter), 1)
        setPaused(waiter, false)
        reject(failure)
      }
      grantNext(lanes)
    })
  return {
    async acquire(key, call) {
      const lanes = lanesByKey.get(key) ?? { calls: [], queue: [] }
      lanesByKey.set(key, lanes)
      const lane = await wait(lanes, call)
      call.onPauseChange = () => grantNext(lanes)
      return {
        lane,
        release() {
          call.onPauseChange = null
          lanes.calls[lane] = undefined
          grantNext(lanes)
          if (lanes.calls.every((each) => !each)) lanesByKey.delete(key)
        }
      }
    }
  }
}
