import type { Call } from './call.ts'

/** A call's place among those of its key. */
export interface Turn {
  /** 0, unless calls before it wait for their callers. */
  readonly lane: number
  /** Gives the place to the next. */
  done(): void
}

/**
 * Calls that share something by key: one at a time, the others in order. While one waits for its caller, which may take
 * minutes, the next goes on in a lane of its own. Where each lane waits for its caller the clocks of the others stand.
 */
export interface Exclusive {
  /** Waits for the turn, but no longer than the call lives: then rejects with what stopped it. */
  take(key: string, call: Call): Promise<Turn>
}

/** A call that waits for its turn. */
interface Waiting {
  readonly call: Call
  readonly go: (lane: number) => void
  /** Its clock stands. */
  isHeld: boolean
}

interface Lanes {
  /** Calls that have their turn, by lane. */
  readonly calls: (Call | undefined)[]
  readonly queue: Waiting[]
}

/** Each may be a process. */
const MAX_LANES = 4

/** The first without a call, where all before it wait for their callers. */
function freeLane({ calls }: Lanes): number | undefined {
  for (let lane = 0; lane < MAX_LANES; lane++) {
    const call = calls[lane]
    if (!call) return lane
    if (!call.isHeld) return undefined
  }
  return undefined
}

function setHeld(waiting: Waiting, isHeld: boolean): void {
  if (waiting.isHeld === isHeld) return
  waiting.isHeld = isHeld
  if (isHeld) waiting.call.hold()
  else waiting.call.resume()
}

function pump(lanes: Lanes): void {
  const { calls, queue } = lanes
  while (queue.length > 0) {
    const lane = freeLane(lanes)
    if (lane === undefined) break
    const next = queue.shift()!
    setHeld(next, false)
    next.go(lane)
  }
  const areAllAsked = calls.every((call) => call?.isHeld)
  for (const waiting of queue) setHeld(waiting, areAllAsked)
}

export function createExclusive(): Exclusive {
  /** A key is here while somebody has a turn. */
  const known = new Map<string, Lanes>()

  const wait = (lanes: Lanes, call: Call) =>
    new Promise<number>((resolve, reject) => {
      const go = (lane: number) => {
        call.onStop = null
        lanes.calls[lane] = call
        resolve(lane)
      }
      const waiting: Waiting = { call, go, isHeld: false }
      lanes.queue.push(waiting)
      call.onStop = (failure) => {
        lanes.queue.splice(lanes.queue.indexOf(waiting), 1)
        setHeld(waiting, false)
        reject(failure)
      }
      pump(lanes)
    })
  return {
    async take(key, call) {
      const lanes = known.get(key) ?? { calls: [], queue: [] }
      known.set(key, lanes)
      const lane = await wait(lanes, call)
      call.onHold = () => pump(lanes)
      return {
        lane,
        done() {
          call.onHold = null
          lanes.calls[lane] = undefined
          pump(lanes)
          if (lanes.calls.every((each) => !each)) known.delete(key)
        }
      }
    }
  }
}
