/** Milliseconds of one turn of the event loop for the messages of one server; past that its streams wait for their turn. */
const TURN_MS = 8

/** One stream, pipe or answer from which messages of a server come piece by piece. */
export interface Source {
  /** Runs `work`, which reads a piece, and counts the time it takes. */
  read(work: () => void): void
  /** True while the source must not be read on: `resume` is called when it may. */
  readonly mustWait: boolean
  /** The source is at its end, or nobody needs the rest. Resumes it if it waits. */
  close(): void
}

/** Sources of one server. */
export interface ServerReads {
  /** `resume` lets the source be read on. */
  open(resume: () => void): Source
}

/**
 * Shares the event loop among servers: all sockets that have something are read in one turn of the loop, so a server that
 * floods many streams would make every caller wait for all of them. A server that has taken its time in a turn is read on
 * in later turns, one source after the other, servers in rotation. A server alone is not slowed down: the loop never idles
 * while a source waits. `now` is `performance.now` but in tests.
 */
export interface ReadingTurns {
  /** For one server, over all of its connections. */
  server(): ServerReads
}

interface Waiting {
  lastMs: number
  go(): void
}

interface Server {
  turn: number
  usedMs: number
  readonly waiting: Waiting[]
}

export function createReadingTurns(now: () => number = () => performance.now()): ReadingTurns {
  /** Those with a source that waits, the next to be read first. */
  const servers = new Set<Server>()
  let turn = 0
  let isScheduled = false

  const schedule = () => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(next)
  }
  const next = () => {
    isScheduled = false
    turn++
    for (let leftMs = TURN_MS; leftMs > 0 && servers.size > 0;) {
      const server = servers.values().next().value!
      servers.delete(server)
      const source = server.waiting.shift()
      if (!source) continue
      if (server.waiting.length > 0) servers.add(server)
      leftMs -= source.lastMs
      source.go()
    }
    if (servers.size > 0) schedule()
  }
  const count = (server: Server, ms: number) => {
    if (server.turn !== turn) server.usedMs = 0
    server.turn = turn
    server.usedMs += ms
    schedule()
  }

  return {
    server() {
      const server: Server = { turn: 0, usedMs: 0, waiting: [] }
      return {
        open(resume) {
          let isClosed = false
          let isWaiting = false
          const waiting: Waiting = {
            lastMs: 0,
            go() {
              isWaiting = false
              resume()
            }
          }
          return {
            get mustWait() {
              return isWaiting
            },
            read(work) {
              const begun = now()
              try {
                work()
              } finally {
                waiting.lastMs = now() - begun
                count(server, waiting.lastMs)
                if (server.usedMs > TURN_MS && !isWaiting && !isClosed) {
                  isWaiting = true
                  server.waiting.push(waiting)
                  servers.add(server)
                }
              }
            },
            close() {
              isClosed = true
              if (!isWaiting) return
              server.waiting.splice(server.waiting.indexOf(waiting), 1)
              waiting.go()
            }
          }
        }
      }
    }
  }
}

/** For connections that stand alone: nothing waits. */
export const unsharedReads: ServerReads = {
  open: () => ({
    mustWait: false,
    read: (work) => work(),
    close() {}
  })
}
