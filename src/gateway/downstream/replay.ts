import { randomBytes } from 'node:crypto'
import { LATEST_LEGACY_VERSION } from '../../domain/protocol.ts'
import type { HttpReply } from './reply.ts'
import type { Session } from './session.ts'

/** What one stream may keep (mcp-proxy.md#resumption); its last event stays whatever its size. */
const MAX_EVENTS = 256
const MAX_BYTES = 1_048_576
/** What all streams may keep together. */
const MAX_TOTAL_BYTES = 67_108_864
/** What a stream that has ended takes beside its events, about: it holds the answer that it began as. */
const STREAM_BYTES = 4_096
/** V8 holds a text in one byte a character, or in two where one of them needs it. */
const sizeOf = (line: string) => (Buffer.byteLength(line) === line.length ? 1 : 2) * line.length
/** Streams of one session that have ended. */
const MAX_ENDED = 256
const KEEP_MS = 300_000
const SWEEP_MS = 30_000

/** An event stream of a session, kept for a while so that a client whose connection broke can ask for what it missed. */
export interface StoredStream {
  readonly id: string
  readonly session: Session
  /** Who writes into it. */
  readonly writer: HttpReply
  /** The connection that it goes out on now. */
  reader: HttpReply | null
  /** Number of the newest event; the first is 1. */
  last: number
  /** The newest events, as one line of JSON each. */
  readonly events: string[]
  size: number
  /** Time (`performance.now()`) since when nobody reads it, or nothing can be added; null: neither. */
  idleSince: number | null
  isEnded: boolean
  /** The reader has gone, but may come back. */
  onDrop: (() => void) | null
  onResume: (() => void) | null
}

export interface EventStore {
  open(session: Session, writer: HttpReply): StoredStream
  /** Keeps an event and sends it to the reader, if there is one. */
  add(stream: StoredStream, line: string): void
  /** Nothing more will be added. */
  end(stream: StoredStream): void
  /** False where the client was told nothing that it could come back with. */
  drop(stream: StoredStream, reader: HttpReply): boolean
  /** The stream of an event id, and the number of that event; undefined where it is not (or no more) one of the session. */
  find(session: Session, eventId: string): { stream: StoredStream; after: number } | undefined
  /** Whether an event id is of another process: a replica that is gone, or this one before it was started again. */
  isFromOtherProcess(eventId: string): boolean
  /** Sends what came after an event, then goes on with this reader. */
  resume(stream: StoredStream, after: number, reader: HttpReply): void
  /** The session is over. */
  endSession(session: Session): void
  close(): void
}

/** Eight characters for the process, one or more for the stream, the number of the event. */
const eventIdPattern = /^[A-Za-z0-9-]{8}[0-9a-z]+_\d{1,15}$/

const sendsPrimingEvent = ({ session }: StoredStream) => session.version >= LATEST_LEGACY_VERSION

export function createEventStore(): EventStore {
  // of this process: ids of an earlier one must not name other streams of the same session
  const prefix = randomBytes(6).toString('base64url').replace(/_/g, '-')
  const live = new Set<StoredStream>()
  // in order of their end
  const ended = new Set<StoredStream>()
  const byId = new Map<string, StoredStream>()
  let total = 0
  /** Of it, what the streams of each principal keep. */
  const bytesByPrincipal = new Map<string, number>()
  let opened = 0

  const grow = ({ session }: StoredStream, length: number) => {
    const size = (bytesByPrincipal.get(session.principal) ?? 0) + length
    if (size > 0) bytesByPrincipal.set(session.principal, size)
    else bytesByPrincipal.delete(session.principal)
    total += length
  }

  const forget = (stream: StoredStream) => {
    stream.isEnded = true
    live.delete(stream)
    if (ended.delete(stream)) grow(stream, -STREAM_BYTES)
    byId.delete(stream.id)
    stream.session.storedStreams?.delete(stream)
    grow(stream, -stream.size)
    stream.size = 0
    stream.events.length = 0
  }
  const shift = (stream: StoredStream) => {
    const size = sizeOf(stream.events.shift()!)
    stream.size -= size
    grow(stream, -size)
  }
  /** Who keeps most gives way, so that nobody pushes out what others need: first of its streams those that ended first. */
  const makeRoom = () => {
    while (total > MAX_TOTAL_BYTES) {
      const [principal] = [...bytesByPrincipal].reduce((a, b) => (b[1] > a[1] ? b : a))
      for (const stream of ended) {
        if (total <= MAX_TOTAL_BYTES) return
        if (stream.session.principal === principal) forget(stream)
      }
      for (const stream of live) {
        if (stream.session.principal !== principal) continue
        while (total > MAX_TOTAL_BYTES && stream.events.length > 0) shift(stream)
      }
    }
  }
  const sweep = () => {
    const limit = performance.now() - KEEP_MS
    for (const stream of ended) if (stream.idleSince! < limit) forget(stream)
    for (const { idleSince, onDrop, writer } of live)
      if (onDrop && idleSince !== null && idleSince < limit) writer.close()
  }
  const timer = setInterval(sweep, SWEEP_MS).unref()

  const end = (stream: StoredStream) => {
    if (stream.isEnded) return
    stream.isEnded = true
    stream.idleSince = performance.now()
    live.delete(stream)
    ended.add(stream)
    grow(stream, STREAM_BYTES)
    stream.reader?.endConnection()
    stream.reader = null
    makeRoom()
    const { storedStreams } = stream.session
    if (!storedStreams || storedStreams.size <= MAX_ENDED) return
    for (const old of storedStreams) if (old.isEnded) return forget(old)
  }

  return {
    open(session, writer) {
      const stream: StoredStream = {
        id: `${prefix}${(++opened).toString(36)}`,
        session,
        writer,
        reader: writer,
        last: 0,
        events: [],
        size: 0,
        idleSince: null,
        isEnded: false,
        onDrop: null,
        onResume: null
      }
      live.add(stream)
      byId.set(stream.id, stream)
      ;(session.storedStreams ??= new Set()).add(stream)
      if (sendsPrimingEvent(stream)) writer.writeFrame(`id: ${stream.id}_0\nretry: 1000\ndata:\n\n`)
      return stream
    },
    add(stream, line) {
      if (stream.isEnded) return
      stream.events.push(line)
      const size = sizeOf(line)
      stream.size += size
      grow(stream, size)
      while (stream.events.length > MAX_EVENTS || (stream.size > MAX_BYTES && stream.events.length > 1)) shift(stream)
      stream.last++
      stream.reader?.writeEvent(line, `${stream.id}_${stream.last}`)
      makeRoom()
    },
    end,
    drop(stream, reader) {
      if (stream.reader !== reader) return true
      stream.reader = null
      stream.idleSince = performance.now()
      if (stream.last === 0 && !sendsPrimingEvent(stream)) {
        forget(stream)
        return false
      }
      stream.onDrop?.()
      return true
    },
    find(session, eventId) {
      const at = eventId.lastIndexOf('_')
      const stream = byId.get(eventId.slice(0, Math.max(at, 0)))
      const number = eventId.slice(at + 1)
      if (stream?.session !== session || !/^\d{1,15}$/.test(number)) return undefined
      const after = Number(number)
      return after <= stream.last ? { stream, after } : undefined
    },
    isFromOtherProcess: (eventId) => eventIdPattern.test(eventId) && !eventId.startsWith(prefix),
    resume(stream, after, reader) {
      stream.reader?.endConnection()
      const first = stream.last - stream.events.length + 1
      for (const [i, line] of stream.events.entries()) {
        if (first + i > after) reader.writeEvent(line, `${stream.id}_${first + i}`)
      }
      if (stream.isEnded) return reader.endConnection()
      stream.reader = reader
      stream.idleSince = null
      stream.onResume?.()
    },
    endSession({ storedStreams }) {
      for (const stream of [...(storedStreams ?? [])]) {
        end(stream)
        forget(stream)
      }
    },
    close: () => clearInterval(timer)
  }
}
