/** Milliseconds per event-loop turn for the messages of one server; beyond that its streams wait for a later turn. */
const TURN_BUDGET_MS = 4

/** One stream, pipe or response body that delivers messages of a server in chunks. */
export interface ReadSource {
  /** Runs `work`, which reads one chunk, and measures its time. */
  read(work: () => void): void
  /** True while the source must be paused; `resume` is called when it may continue. */
  readonly mustPause: boolean
  /** Call when the source has ended or the rest is not needed. Resumes a paused source. */
  close(): void
}

/** Sources of one server. */
export interface ServerReads {
  /** Registers a source; `resume` continues its reading. */
  open(resume: () => void): ReadSource
}

/**
 * Divides event-loop time among servers. One loop turn reads all readable sockets, so a server that floods many streams
 * would delay every caller. A server that has used its time is read on in later turns, one source at a time, servers in
 * rotation. A server alone is not slowed down: the loop never idles while a source waits. `now` is replaced only in
 * tests.
 */
export interface ReadScheduler {
  /** Creates the scheduler of one server, for all its connections. */
  server(): ServerReads
}

interface PausedSource {
  lastMs: number
  go(): void
}

interface ServerState {
  turn: number
  usedMs: number
  readonly paused: PausedSource[]
}

export function createReadScheduler(now: () => number = () => performance.now()): ReadScheduler {
  /** Servers with a paused source, in reading order. */
  const servers = new Set<ServerState>()
  let turn = 0
  let isScheduled = false

  const schedule = () => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(runTurn)
  }
  const runTurn = () => {
    isScheduled = false
    turn++
    for (let leftMs = TURN_BUDGET_MS; leftMs > 0 && servers.size > 0;) {
      const server = servers.values().next().value!
      servers.delete(server)
      const source = server.paused.shift()
      if (!source) continue
      if (server.paused.length > 0) servers.add(server)
      leftMs -= source.lastMs
      source.go()
    }
    if (servers.size > 0) schedule()
  }
  const addTime = (server: ServerState, ms: number) => {
    if (server.turn !== turn) server.usedMs = 0
    server.turn = turn
    server.usedMs += ms
    schedule()
  }

  return {
    server() {
      const server: ServerState = { turn: 0, usedMs: 0, paused: [] }
      return {
        open(resume) {
          let isClosed = false
          let isPaused = false
          const pausedSource: PausedSource = {
            lastMs: 0,
            go() {
              isPaused = false
              resume()
            }
          }
          return {
            get mustPause() {
              return isPaused
            },
            read(work) {
              const begun = now()
              try {
                work()
              } finally {
                pausedSource.lastMs = now() - begun
                addTime(server, pausedSource.lastMs)
                if (server.usedMs > TURN_BUDGET_MS && !isPaused && !isClosed) {
                  isPaused = true
                  server.paused.push(pausedSource)
                  servers.add(server)
                }
              }
            },
            close() {
              isClosed = true
              if (!isPaused) return
              server.paused.splice(server.paused.indexOf(pausedSource), 1)
              pausedSource.go()
            }
          }
        }
      }
    }
  }
}

/** For connections outside the gateway's scheduling: no source ever waits. */
export const unscheduledReads: ServerReads = {
  open: () => ({
    mustPause: false,
    read: (work) => work(),
    close() {}
  })
}
