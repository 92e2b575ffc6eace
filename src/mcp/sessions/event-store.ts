import { randomBytes } from 'node:crypto'
import { LATEST_LEGACY_VERSION } from '../../domain/mcp-constants.ts'
import type { HttpReply } from './reply.ts'
import type { Session } from './client-sessions.ts'

/** Limits of one stream (mcp-proxy.md#resumption); its newest event is kept whatever its size. */
const MAX_EVENTS = 256
const MAX_BYTES = 1_048_576
/** Limit of bytes stored for all streams. */
const MAX_TOTAL_BYTES = 67_108_864
/** Estimated size of an ended stream beside its events: the reply that opened it. */
const STREAM_BYTES = 4_096
/** Bytes of a string in V8: one per character if all are Latin-1, otherwise two. */
const sizeOf = (line: string) => (Buffer.byteLength(line) === line.length ? 1 : 2) * line.length
/** Limit of ended streams per session. */
const MAX_ENDED = 256
const KEEP_MS = 300_000
const SWEEP_MS = 30_000

/** Event stream of a session, stored for a while so that a client can reconnect and get the events that it missed. */
export interface StoredStream {
  readonly id: string
  readonly session: Session
  /** The reply that writes the events. */
  readonly writer: HttpReply
  /** The connection that currently receives the stream. */
  reader: HttpReply | null
  /** Number of the newest event; the first is 1. */
  last: number
  /** The newest events, each one line of JSON. */
  readonly events: string[]
  size: number
  /** Time (`performance.now()`) when the stream lost its reader or ended; null while it is open and read. */
  idleSince: number | null
  isEnded: boolean
  /** Called when the reader disconnects; it may come back. */
  onDrop: (() => void) | null
  onResume: (() => void) | null
}

export interface EventStore {
  open(session: Session, writer: HttpReply): StoredStream
  /** Stores an event and sends it to the reader, if connected. */
  add(stream: StoredStream, line: string): void
  /** Ends the stream: no events follow. */
  end(stream: StoredStream): void
  /** Detaches the reader. Returns false if the client has received no event id to resume from. */
  detach(stream: StoredStream, reader: HttpReply): boolean
  /** Returns the stream and number of an event id; undefined if the session has no such stream (any more). */
  find(session: Session, eventId: string): { stream: StoredStream; after: number } | undefined
  /** Returns true if the event id was issued by another process: another replica, or this one before a restart. */
  isFromOtherProcess(eventId: string): boolean
  /** Sends the events after number `after`, then continues with this reader. */
  resume(stream: StoredStream, after: number, reader: HttpReply): void
  /** Deletes all streams of the session. */
  endSession(session: Session): void
  close(): void
}

/** Eight characters for the process, at least one for the stream, then the event number. */
const eventIdPattern = /^[A-Za-z0-9-]{8}[0-9a-z]+_\d{1,15}$/

const sendsPrimingEvent = ({ session }: StoredStream) => session.version >= LATEST_LEGACY_VERSION

export const createEventStore = (): EventStore => new BoundedEventStore()

class BoundedEventStore implements EventStore {
  // unique per process: an id issued before a restart must not match a new stream of the same session
  readonly #prefix = randomBytes(6).toString('base64url').replace(/_/g, '-')
  readonly #openStreams = new Set<StoredStream>()
  // ordered by end time
  readonly #endedStreams = new Set<StoredStream>()
  readonly #byId = new Map<string, StoredStream>()
  #totalBytes = 0
  readonly #bytesByPrincipal = new Map<string, number>()
  /** Number of streams opened so far. */
  #opened = 0
  readonly #timer = setInterval(() => this.#sweep(), SWEEP_MS).unref()

  open(session: Session, writer: HttpReply): StoredStream {
    const stream: StoredStream = {
      id: `${this.#prefix}${(++this.#opened).toString(36)}`,
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
    this.#openStreams.add(stream)
    this.#byId.set(stream.id, stream)
    ;(session.storedStreams ??= new Set()).add(stream)
    if (sendsPrimingEvent(stream)) writer.writeFrame(`id: ${stream.id}_0\nretry: 1000\ndata:\n\n`)
    return stream
  }

  add(stream: StoredStream, line: string): void {
    if (stream.isEnded) return
    stream.events.push(line)
    const size = sizeOf(line)
    stream.size += size
    this.#addBytes(stream, size)
    while (stream.events.length > MAX_EVENTS || (stream.size > MAX_BYTES && stream.events.length > 1))
      this.#dropOldestEvent(stream)
    stream.last++
    stream.reader?.writeEvent(line, `${stream.id}_${stream.last}`)
    this.#makeRoom()
  }

  end(stream: StoredStream): void {
    if (stream.isEnded) return
    stream.isEnded = true
    stream.idleSince = performance.now()
    this.#openStreams.delete(stream)
    this.#endedStreams.add(stream)
    this.#addBytes(stream, STREAM_BYTES)
    stream.reader?.endConnection()
    stream.reader = null
    this.#makeRoom()
    const { storedStreams } = stream.session
    if (!storedStreams || storedStreams.size <= MAX_ENDED) return
    for (const old of storedStreams) if (old.isEnded) return this.#deleteStream(old)
  }

  detach(stream: StoredStream, reader: HttpReply): boolean {
    if (stream.reader !== reader) return true
    stream.reader = null
    stream.idleSince = performance.now()
    if (stream.last === 0 && !sendsPrimingEvent(stream)) {
      this.#deleteStream(stream)
      return false
    }
    stream.onDrop?.()
    return true
  }

  find(session: Session, eventId: string): { stream: StoredStream; after: number } | undefined {
    const at = eventId.lastIndexOf('_')
    const stream = this.#byId.get(eventId.slice(0, Math.max(at, 0)))
    const number = eventId.slice(at + 1)
    if (stream?.session !== session || !/^\d{1,15}$/.test(number)) return undefined
    const after = Number(number)
    return after <= stream.last ? { stream, after } : undefined
  }

  isFromOtherProcess(eventId: string): boolean {
    return eventIdPattern.test(eventId) && !eventId.startsWith(this.#prefix)
  }

  resume(stream: StoredStream, after: number, reader: HttpReply): void {
    stream.reader?.endConnection()
    const first = stream.last - stream.events.length + 1
    for (const [i, line] of stream.events.entries()) {
      if (first + i > after) reader.writeEvent(line, `${stream.id}_${first + i}`)
    }
    if (stream.isEnded) return reader.endConnection()
    stream.reader = reader
    stream.idleSince = null
    stream.onResume?.()
  }

  endSession({ storedStreams }: Session): void {
    for (const stream of [...(storedStreams ?? [])]) {
      this.end(stream)
      this.#deleteStream(stream)
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #addBytes({ session }: StoredStream, length: number): void {
    const size = (this.#bytesByPrincipal.get(session.principal) ?? 0) + length
    if (size > 0) this.#bytesByPrincipal.set(session.principal, size)
    else this.#bytesByPrincipal.delete(session.principal)
    this.#totalBytes += length
  }

  #deleteStream(stream: StoredStream): void {
    stream.isEnded = true
    this.#openStreams.delete(stream)
    if (this.#endedStreams.delete(stream)) this.#addBytes(stream, -STREAM_BYTES)
    this.#byId.delete(stream.id)
    stream.session.storedStreams?.delete(stream)
    this.#addBytes(stream, -stream.size)
    stream.size = 0
    stream.events.length = 0
  }

  #dropOldestEvent(stream: StoredStream): void {
    const size = sizeOf(stream.events.shift()!)
    stream.size -= size
    this.#addBytes(stream, -size)
  }

  /**
   * Evicts events of the principal that stores the most, its ended streams first, so that one client cannot displace
   * the others.
   */
  #makeRoom(): void {
    while (this.#totalBytes > MAX_TOTAL_BYTES) {
      const [principal] = [...this.#bytesByPrincipal].reduce((a, b) => (b[1] > a[1] ? b : a))
      for (const stream of this.#endedStreams) {
        if (this.#totalBytes <= MAX_TOTAL_BYTES) return
        if (stream.session.principal === principal) this.#deleteStream(stream)
      }
      for (const stream of this.#openStreams) {
        if (stream.session.principal !== principal) continue
        while (this.#totalBytes > MAX_TOTAL_BYTES && stream.events.length > 0) this.#dropOldestEvent(stream)
      }
    }
  }

  #sweep(): void {
    const limit = performance.now() - KEEP_MS
    for (const stream of this.#endedStreams) if (stream.idleSince! < limit) this.#deleteStream(stream)
    for (const { idleSince, onDrop, writer } of this.#openStreams)
      if (onDrop && idleSince !== null && idleSince < limit) writer.close()
  }
}
