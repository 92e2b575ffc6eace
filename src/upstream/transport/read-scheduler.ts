/** Milliseconds per event-loop turn in which messages of servers are read; beyond that they wait for a later turn. */
const TURN_BUDGET_MS = 1
/** Milliseconds of a turn, with what follows from what was read, after which the next turn reads of one server only. */
const LONG_TURN_MS = 2 * TURN_BUDGET_MS
/** Milliseconds after which the next server has its turn. */
const SHARE_MS = 0.5
/** Longer chunks are read in pieces: one may hold a thousand messages. */
const PIECE_BYTES = 16_384
/** Paused sources of a server that continue in one turn: each delivers as much as its socket holds. */
const RESUMED = 4

/** One stream, pipe or response body that delivers messages of a server in chunks. */
export interface ReadSource {
  /** Reads a chunk in its turn. Returns false if the source must be paused; `resume` is called when it may continue. */
  add(chunk: Buffer): boolean
  /** Call when the source has ended or the rest is not needed. Resumes a paused source. */
  close(): void
}

/** Sources of one server. */
export interface ServerReads {
  /**
   * Runs `work` after this event-loop turn's socket reads, behind everything that the server sent before. `work` must
   * not throw: nothing catches the error, and the process ends.
   */
  schedule(work: () => void): void
  /** Registers a source: `read` reads a chunk, or a piece of one, and must not throw; `resume` continues the source. */
  open(read: (chunk: Buffer) => void, resume: () => void): ReadSource
}

/**
 * Divides event-loop time among servers. One loop turn reads all readable sockets, so a server that floods many streams
 * would delay every caller. What is read in a turn is processed after its socket reads, in one batch, which keeps the
 * code in the processor's caches and saves a sixth of a call's CPU time. Beyond 1 ms the rest waits for later turns,
 * servers in rotation, and the sources of a server that waits are paused: of each no more waits than two reads of its
 * socket. `now` is replaced only in tests.
 */
export interface ReadScheduler {
  /** Creates the scheduler of one server, for all its connections. */
  server(): ServerReads
}

interface ServerState {
  /** Reads of chunks that have arrived, and other work for the server, in order of arrival. */
  readonly works: (() => void)[]
  readonly paused: (() => void)[]
  /** True while something of an earlier turn waits. */
  isBehind: boolean
}

export function createReadScheduler(now: () => number = () => performance.now()): ReadScheduler {
  /** Servers that sent something since the last turn and are not behind. */
  let fresh: ServerState[] = []
  /** Servers of which something waits, in rotation. */
  const behind = new Set<ServerState>()
  let isScheduled = false
  let begun = 0
  /** True if the last turn took longer than its budget, with all that followed from what was read. */
  let wasLong = false

  const plan = () => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(runTurn)
    // runs behind the promises and ticks of `runTurn`
    setImmediate(endTurn)
  }
  const endTurn = () => {
    wasLong = now() - begun > LONG_TURN_MS
  }
  const setBehind = (server: ServerState) => {
    server.isBehind = server.works.length > 0 || server.paused.length > 0
    if (server.isBehind) behind.add(server)
  }
  /** Reads what a server sent for its share of the turn, which begins at `begun`. Returns the time. */
  const serve = (server: ServerState, begun: number): number => {
    const { works, paused } = server
    let at = begun
    while (works.length > 0 && at - begun <= SHARE_MS) {
      works.shift()!()
      at = now()
    }
    for (let resumed = 0; works.length === 0 && paused.length > 0 && resumed < RESUMED; resumed++) {
      if (at - begun > SHARE_MS) break
      paused.shift()!()
      at = now()
    }
    setBehind(server)
    return at
  }
  const runTurn = () => {
    isScheduled = false
    let at = now()
    begun = at
    const end = at + TURN_BUDGET_MS
    const waiting = [...behind]
    const due = fresh
    fresh = []
    for (const server of due) {
      if (at < end) at = serve(server, at)
      else setBehind(server)
      // the rest of the turn is for whoever waits, also if that is one server
      if (server.works.length > 0 && at < end && !wasLong) waiting.push(server)
    }
    // at least one, however much is new in every turn; no more while a little reading leads to much work
    for (let served = 0; waiting.length > 0 && (served === 0 || (at < end && !wasLong)); served++) {
      const server = waiting.shift()!
      behind.delete(server)
      at = serve(server, at)
      if (server.works.length > 0) waiting.push(server)
    }
    if (behind.size > 0) plan()
  }

  return {
    server() {
      const server: ServerState = { works: [], paused: [], isBehind: false }
      const schedule = (work: () => void) => {
        if (server.works.push(work) > 1 || server.isBehind) return
        fresh.push(server)
        plan()
      }
      return {
        schedule,
        open(read, resume) {
          let isClosed = false
          const isPaused = () => server.paused.includes(resume)
          return {
            add(chunk) {
              for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
                const piece = chunk.length > PIECE_BYTES ? chunk.subarray(at, at + PIECE_BYTES) : chunk
                schedule(() => read(piece))
              }
              if (!server.isBehind || isClosed) return true
              if (!isPaused()) server.paused.push(resume)
              return false
            },
            close() {
              isClosed = true
              if (!isPaused()) return
              server.paused.splice(server.paused.indexOf(resume), 1)
              resume()
            }
          }
        }
      }
    }
  }
}
