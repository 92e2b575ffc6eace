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
 * minutes, the next goes on in a lane of its own.
 */
export interface Exclusive {
  /** Waits for the turn, but no longer than the call lives: then rejects with what stopped it. */
  take(key: string, call: Call): Promise<Turn>
}

interface Lanes {
  /** Calls that have their turn, by lane. */
  readonly calls: (Call | undefined)[]
  readonly queue: ((lane: number) => void)[]
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

function pump(lanes: Lanes): void {
  while (lanes.queue.length > 0) {
    const lane = freeLane(lanes)
    if (lane === undefined) return
    lanes.queue.shift()!(lane)
  }
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
      lanes.queue.push(go)
      call.onStop = (failure) => {
        lanes.queue.splice(lanes.queue.indexOf(go), 1)
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
