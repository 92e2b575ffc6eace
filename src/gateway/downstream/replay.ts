import { randomBytes } from 'node:crypto'
import { LATEST_LEGACY_VERSION } from '../../domain/protocol.ts'
import type { Reply } from './reply.ts'
import type { Session } from './session.ts'

/** What one stream may keep (mcp-proxy.md#resumption); its last event stays whatever its size. */
const MAX_EVENTS = 256
const MAX_BYTES = 1_048_576
/** What all streams may keep together. */
const MAX_TOTAL = 67_108_864
/** What a stream that has ended takes beside its events, about: it holds the answer that it began as. */
const TRACK_BYTES = 4_096
/** V8 holds a text in one byte a character, or in two where one of them needs it. */
const sizeOf = (line: string) => (Buffer.byteLength(line) === line.length ? 1 : 2) * line.length
/** Streams of one session that have ended. */
const MAX_ENDED = 256
const KEEP_MS = 300_000
const SWEEP_MS = 30_000

/** An event stream of a session, kept for a while so that a client whose connection broke can ask for what it missed. */
export interface Track {
  readonly id: string
  readonly session: Session
  /** Who writes into it. */
  readonly owner: Reply
  /** The connection that it goes out on now. */
  reader: Reply | null
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

export interface Replays {
  open(session: Session, owner: Reply): Track
  /** Keeps an event and sends it to the reader, if there is one. */
  add(track: Track, line: string): void
  /** Nothing more will be added. */
  end(track: Track): void
  /** False where the client was told nothing that it could come back with. */
  drop(track: Track, reader: Reply): boolean
  /** The stream of an event id, and the number of that event; undefined where it is not (or no more) one of the session. */
  find(session: Session, eventId: string): { track: Track; after: number } | undefined
  /** Whether an event id is of another process: a replica that is gone, or this one before it was started again. */
  isElsewhere(eventId: string): boolean
  /** Sends what came after an event, then goes on with this reader. */
  resume(track: Track, after: number, reader: Reply): void
  /** The session is over. */
  endSession(session: Session): void
  close(): void
}

/** Eight characters for the process, one or more for the stream, the number of the event. */
const shape = /^[A-Za-z0-9-]{8}[0-9a-z]+_\d{1,15}$/

const primes = ({ session }: Track) => session.version >= LATEST_LEGACY_VERSION

export function createReplays(): Replays {
  // of this process: ids of an earlier one must not name other streams of the same session
  const prefix = randomBytes(6).toString('base64url').replace(/_/g, '-')
  const live = new Set<Track>()
  // in order of their end
  const ended = new Set<Track>()
  const byId = new Map<string, Track>()
  let total = 0
  /** Of it, what the streams of each principal keep. */
  const held = new Map<string, number>()
  let opened = 0

  const grow = ({ session }: Track, length: number) => {
    const size = (held.get(session.principal) ?? 0) + length
    if (size > 0) held.set(session.principal, size)
    else held.delete(session.principal)
    total += length
  }

  const forget = (track: Track) => {
    track.isEnded = true
    live.delete(track)
    if (ended.delete(track)) grow(track, -TRACK_BYTES)
    byId.delete(track.id)
    track.session.tracks?.delete(track)
    grow(track, -track.size)
    track.size = 0
    track.events.length = 0
  }
  const shift = (track: Track) => {
    const size = sizeOf(track.events.shift()!)
    track.size -= size
    grow(track, -size)
  }
  /** Who keeps most gives way, so that nobody pushes out what others need: first of its streams those that ended first. */
  const makeRoom = () => {
    while (total > MAX_TOTAL) {
      const [principal] = [...held].reduce((a, b) => (b[1] > a[1] ? b : a))
      for (const track of ended) {
        if (total <= MAX_TOTAL) return
        if (track.session.principal === principal) forget(track)
      }
      for (const track of live) {
        if (track.session.principal !== principal) continue
        while (total > MAX_TOTAL && track.events.length > 0) shift(track)
      }
    }
  }
  const sweep = () => {
    const limit = performance.now() - KEEP_MS
    for (const track of ended) if (track.idleSince! < limit) forget(track)
    for (const { idleSince, onDrop, owner } of live)
      if (onDrop && idleSince !== null && idleSince < limit) owner.close()
  }
  const timer = setInterval(sweep, SWEEP_MS).unref()

  const end = (track: Track) => {
    if (track.isEnded) return
    track.isEnded = true
    track.idleSince = performance.now()
    live.delete(track)
    ended.add(track)
    grow(track, TRACK_BYTES)
    track.reader?.hangUp()
    track.reader = null
    makeRoom()
    const { tracks } = track.session
    if (!tracks || tracks.size <= MAX_ENDED) return
    for (const old of tracks) if (old.isEnded) return forget(old)
  }

  return {
    open(session, owner) {
      const track: Track = {
        id: `${prefix}${(++opened).toString(36)}`,
        session,
        owner,
        reader: owner,
        last: 0,
        events: [],
        size: 0,
        idleSince: null,
        isEnded: false,
        onDrop: null,
        onResume: null
      }
      live.add(track)
      byId.set(track.id, track)
      ;(session.tracks ??= new Set()).add(track)
      if (primes(track)) owner.frame(`id: ${track.id}_0\nretry: 1000\ndata:\n\n`)
      return track
    },
    add(track, line) {
      if (track.isEnded) return
      track.events.push(line)
      const size = sizeOf(line)
      track.size += size
      grow(track, size)
      while (track.events.length > MAX_EVENTS || (track.size > MAX_BYTES && track.events.length > 1)) shift(track)
      track.last++
      track.reader?.event(line, `${track.id}_${track.last}`)
      makeRoom()
    },
    end,
    drop(track, reader) {
      if (track.reader !== reader) return true
      track.reader = null
      track.idleSince = performance.now()
      if (track.last === 0 && !primes(track)) {
        forget(track)
        return false
      }
      track.onDrop?.()
      return true
    },
    find(session, eventId) {
      const at = eventId.lastIndexOf('_')
      const track = byId.get(eventId.slice(0, Math.max(at, 0)))
      const number = eventId.slice(at + 1)
      if (track?.session !== session || !/^\d{1,15}$/.test(number)) return undefined
      const after = Number(number)
      return after <= track.last ? { track, after } : undefined
    },
    isElsewhere: (eventId) => shape.test(eventId) && !eventId.startsWith(prefix),
    resume(track, after, reader) {
      track.reader?.hangUp()
      const first = track.last - track.events.length + 1
      for (const [i, line] of track.events.entries()) {
        if (first + i > after) reader.event(line, `${track.id}_${first + i}`)
      }
      if (track.isEnded) return reader.hangUp()
      track.reader = reader
      track.idleSince = null
      track.onResume?.()
    },
    endSession({ tracks }) {
      for (const track of [...(tracks ?? [])]) {
        end(track)
        forget(track)
      }
    },
    close: () => clearInterval(timer)
  }
}
