import { complete, MIN_SLICED_BYTES } from '../../lib/time-slice.ts'
import { type MemoryQuota, unlimitedMemory } from './memory-quota.ts'

/** Milliseconds per event-loop turn in which messages of servers are read; beyond that they wait for a later turn. */
const TURN_BUDGET_MS = 1
/** Milliseconds of a turn, with what follows from what was read, after which the next turn reads of one server only. */
const LONG_TURN_MS = 2 * TURN_BUDGET_MS
/** Milliseconds after which the next server has its turn. */
const SHARE_MS = 0.5
/** Least cost of a share, so that servers whose reads take less than the clock shows have equal turns. */
const LEAST_MS = 0.005
/**
 * Bytes of chunks that count as one millisecond, besides the time to parse them. Each chunk is garbage afterwards: V8
 * collects the whole heap, which takes about 50 ms in small steps, once buffers have grown by 64 MiB.
 */
const BYTES_PER_MS = 262_144
/** Milliseconds by which a server that was idle may be ahead of those that were read meanwhile. */
const CREDIT_MS = 20
/** Longer chunks are read in pieces: one may hold a thousand messages. */
const PIECE_BYTES = 16_384
/** Bytes of a source that wait before it is paused, and what a piece counts besides its bytes. */
const WAITING_BYTES = PIECE_BYTES
const CHUNK_BYTES = 64
/**
 * Chunks up to this length that arrive together are joined: thousands of one byte would take 250 bytes each. A block of
 * `JOINED_BYTES` comes from Node's pool; memory of its own costs several microseconds and counts as external memory.
 */
const SHORT_BYTES = 128
const JOINED_BYTES = 1_024
/** Bytes of all sources of a server that may wait in the turn in which they arrive: one socket would deliver 2 MiB. */
const MAX_WAITING_BYTES = BYTES_PER_MS
/** Paused sources of a server that continue in one turn: each delivers as much as its socket holds. */
const RESUMED = 4

/** One stream, pipe or response body that delivers messages of a server in chunks. */
export interface ReadSource {
  /**
   * Reads a chunk in its turn. Returns false if the source must be paused; `resume` is called when it may continue, and
   * may add all that its socket holds.
   */
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
  /**
   * Reads a message of so many bytes; called by a read or by scheduled work. A small message is read at once, a large one
   * step by step in the server's turns, before everything else that the server sent: messages that follow in the same
   * chunk wait for it. `steps` must not throw.
   */
  readInSteps(bytes: number, steps: () => Generator<void, void>): void
  /** Registers a source: `read` reads a chunk, or a piece of one, and must not throw; `resume` continues the source. */
  open(read: (chunk: Buffer) => void, resume: () => void): ReadSource
}

/**
 * Divides event-loop time among servers. One loop turn reads all readable sockets, so a server that floods many streams
 * would delay every caller. What is read in a turn is processed after its socket reads, in one batch, which keeps the
 * code in the processor's caches and saves a sixth of a call's CPU time. The server that has used the least time is read
 * first (start-time fair queueing). Beyond 1 ms or 256 KiB the rest waits for later turns, and the sources of a server that
 * waits are paused once 16 KiB of them wait: of each no more waits than two reads of its socket. `now` is replaced only in
 * tests.
 */
export interface ReadScheduler {
  /** Creates the scheduler of one server, for all its connections. `memory` counts a message that is read in steps. */
  server(memory?: MemoryQuota): ServerReads
}

/** A message that is read in steps, or behind one. */
interface Following {
  readonly bytes: number
  readonly steps: () => Generator<void, void>
}

/** Reads a chunk, or does other work. Returns the bytes of the chunk. */
type Work = () => number

interface ServerState {
  /** Reads of chunks that have arrived, and other work for the server, in order of arrival. */
  readonly works: Work[]
  /** Large message that is being read, and messages that wait for it. */
  reading: Generator<void, void> | null
  readonly following: Following[]
  readonly memory: MemoryQuota
  readonly paused: (() => void)[]
  /** Bytes of chunks that wait. */
  waiting: number
  /** True while it has a place in the turns. */
  isActive: boolean
  /** True while something of an earlier turn waits. */
  isBehind: boolean
  /** Virtual time at which its next share begins: grows by the time that its shares take. */
  due: number
}

const hasWork = ({ works, reading, following }: ServerState): boolean =>
  works.length > 0 || reading !== null || following.length > 0

/** Reads a message, whose bytes are no longer those of an unfinished message but still in memory. */
function* readCounted(memory: MemoryQuota, { bytes, steps }: Following): Generator<void, void> {
  // others may have taken its bytes meanwhile: the message is there all the same
  const isCounted = memory.reserve(bytes)
  yield* steps()
  if (isCounted) memory.release(bytes)
}

/** Does one step of what a server sent. Returns the bytes of the chunk that it read. */
function takeStep(server: ServerState): number {
  const next = server.reading ? undefined : server.following.shift()
  if (next) server.reading = readCounted(server.memory, next)
  if (server.reading) {
    if (server.reading.next().done) server.reading = null
    return 0
  }
  return server.works.shift()?.() ?? 0
}

/** Chunks of a source that wait together. */
interface Piece {
  data: Buffer
  length: number
  /** True if `data` is a block with room after the first `length` bytes. */
  isBlock: boolean
  readonly work: Work
}

/** Appends a copy of a short chunk to a piece. Returns false if it has no room. */
function appendTo(piece: Piece, chunk: Buffer): boolean {
  const length = piece.length + chunk.length
  if (chunk.length > SHORT_BYTES || length > JOINED_BYTES) return false
  if (!piece.isBlock) {
    const block = Buffer.allocUnsafe(JOINED_BYTES)
    piece.data.copy(block)
    piece.data = block
    piece.isBlock = true
  }
  chunk.copy(piece.data, piece.length)
  piece.length = length
  return true
}

/** Creates a source of a server: `schedule` queues the reads of its chunks. */
function createSource(
  server: ServerState,
  schedule: (work: Work) => void,
  read: (chunk: Buffer) => void,
  resume: () => void
): ReadSource {
  let isClosed = false
  let waiting = 0
  let isResuming = false
  let isPaused = false
  let last: Piece | null = null
  const count = (bytes: number) => {
    waiting += bytes
    server.waiting += bytes
  }
  const continueReading = () => {
    isPaused = false
    isResuming = true
    resume()
    isResuming = false
  }
  const addPiece = (data: Buffer) => {
    const work = () => {
      if (last === piece) last = null
      const { data, length, isBlock } = piece
      count(-length - CHUNK_BYTES)
      if (isClosed) return 0
      read(isBlock ? data.subarray(0, length) : data)
      return length
    }
    const piece: Piece = { data, length: data.length, isBlock: false, work }
    last = piece
    count(data.length + CHUNK_BYTES)
    schedule(work)
  }
  return {
    add(chunk) {
      if (isClosed) return true
      // behind other work of the server it would overtake that
      const isJoined = last !== null && server.works.at(-1) === last.work && appendTo(last, chunk)
      if (isJoined) count(chunk.length)
      else
        for (let at = 0; at < chunk.length; at += PIECE_BYTES)
          addPiece(chunk.length > PIECE_BYTES ? chunk.subarray(at, at + PIECE_BYTES) : chunk)
      const mustWait = server.isBehind || server.waiting >= MAX_WAITING_BYTES
      if (isResuming || waiting < WAITING_BYTES || !mustWait) return true
      if (!isPaused) server.paused.push(continueReading)
      isPaused = true
      return false
    },
    close() {
      isClosed = true
      if (!isPaused) return
      server.paused.splice(server.paused.indexOf(continueReading), 1)
      continueReading()
    }
  }
}

export function createReadScheduler(now: () => number = () => performance.now()): ReadScheduler {
  /** Servers of which something waits or has arrived since the last turn. No `Set`, for the reason of `SlotSet`. */
  let active: ServerState[] = []
  let virtual = 0
  let isScheduled = false
  let begun = 0
  /** Milliseconds of this turn for which bytes count. */
  let charged = 0
  const clock = () => now() + charged
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
  /** Reads what a server sent for its share of the turn, which begins at `begun`. Returns the time. */
  const serve = (server: ServerState, begun: number): number => {
    const { paused } = server
    let at = begun
    while (hasWork(server) && at - begun <= SHARE_MS) {
      charged += takeStep(server) / BYTES_PER_MS
      at = clock()
    }
    for (let resumed = 0; !hasWork(server) && paused.length > 0 && resumed < RESUMED; resumed++) {
      if (at - begun > SHARE_MS) break
      paused.shift()!()
      at = clock()
    }
    virtual = Math.max(virtual, server.due)
    server.due += Math.max(LEAST_MS, at - begun)
    return at
  }
  /** Servers in the order of their shares: of equal ones first those that are not behind. */
  const inOrder = (): ServerState[] =>
    [...active].sort((one, other) => one.due - other.due || Number(one.isBehind) - Number(other.isBehind))
  /** Returns the server with work that has used the least time. */
  const nextWithWork = (): ServerState | undefined => {
    let first: ServerState | undefined
    for (const server of active) if (hasWork(server) && (first === undefined || server.due < first.due)) first = server
    return first
  }
  const runTurn = () => {
    isScheduled = false
    charged = 0
    let at = now()
    begun = at
    const end = at + TURN_BUDGET_MS
    let served = 0
    for (const server of inOrder()) {
      // of those behind at least one, however much is new in every turn; no more while a little reading leads to much work
      const hasShare = server.isBehind ? served === 0 || (at < end && !wasLong) : at < end
      if (!hasShare) continue
      if (server.isBehind) served++
      at = serve(server, at)
    }
    // the rest of the turn is for whoever waits, also if that is one server
    while (at < end && !wasLong) {
      const server = nextWithWork()
      if (!server) break
      at = serve(server, at)
    }
    for (const server of active) server.isActive = server.isBehind = hasWork(server) || server.paused.length > 0
    active = active.filter(({ isActive }) => isActive)
    if (active.length > 0) plan()
  }

  return {
    server(memory = unlimitedMemory) {
      const server: ServerState = {
        works: [],
        reading: null,
        following: [],
        memory,
        paused: [],
        waiting: 0,
        isActive: false,
        isBehind: false,
        due: 0
      }
      const schedule = (work: Work) => {
        if (server.works.push(work) > 1 || server.isActive) return
        server.due = Math.max(server.due, virtual - CREDIT_MS)
        server.isActive = true
        active.push(server)
        plan()
      }
      return {
        schedule: (work) =>
          schedule(() => {
            work()
            return 0
          }),
        readInSteps(bytes, steps) {
          const mustWait = server.reading !== null || server.following.length > 0
          if (mustWait || bytes >= MIN_SLICED_BYTES) server.following.push({ bytes, steps })
          else complete(steps())
        },
        open: (read, resume) => createSource(server, schedule, read, resume)
      }
    }
  }
}
