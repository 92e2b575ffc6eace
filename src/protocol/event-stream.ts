import { BufferCollector, concatBuffers } from '../json/buffer-list.ts'

const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58
const LINE_BREAK = Buffer.from('\n')
const LONGEST_FIELD = 'event'.length
const MAX_ID = 1024
const MAX_TYPE = 64
const UNKNOWN_TYPE = 'unknown'

/**
 * Incremental parser of `text/event-stream` (HTML standard, 9.2.6). An event without its closing blank line is
 * discarded. A class, since an upstream may answer each call with a stream.
 */
export class EventStream {
  /** Id of the last complete event, as needed in `Last-Event-ID`; null if there was none. */
  lastEventId: string | null = null
  /** Milliseconds in the server's last `retry` field. */
  retryMs: number | null = null
  readonly #maxEventBytes: number
  readonly #onEvent: (data: Buffer, type: string) => void
  /** Start of an unfinished line. */
  #rest: BufferCollector | null = null
  /** First data line of the event; from the second on, lines are collected in `#lines`. */
  #data: Buffer | null = null
  #lines: BufferCollector | null = null
  #type = ''
  #id: string | null = null
  #isAfterCarriageReturn = false
  #isAtStart = true

  /**
   * `maxEventBytes` limits one event, unfinished lines included. `onEvent` receives each event with data: its data
   * lines joined by LF, and its type, empty if there was none.
   */
  constructor(maxEventBytes: number, onEvent: (data: Buffer, type: string) => void) {
    this.#maxEventBytes = maxEventBytes
    this.#onEvent = onEvent
  }

  /** Parses a chunk. Returns false if an event exceeds the limit; the parser is unusable then. */
  write(chunk: Buffer): boolean {
    let at = this.#isAfterCarriageReturn && chunk[0] === LF ? 1 : 0
    if (chunk.length > 0) this.#isAfterCarriageReturn = false
    let lf = chunk.indexOf(LF, at)
    let cr = chunk.indexOf(CR, at)
    while (lf >= 0 || cr >= 0) {
      const end = lf < 0 || (cr >= 0 && cr < lf) ? cr : lf
      if (this.bufferedBytes + end - at > this.#maxEventBytes) return false
      this.#parseLine(chunk.subarray(at, end))
      at = end + 1
      if (end === cr) {
        if (at === chunk.length) this.#isAfterCarriageReturn = true
        else if (chunk[at] === LF) at++
      }
      if (lf >= 0 && lf < at) lf = chunk.indexOf(LF, at)
      if (cr >= 0 && cr < at) cr = chunk.indexOf(CR, at)
    }
    if (at < chunk.length) (this.#rest ??= new BufferCollector()).add(chunk.subarray(at))
    return this.bufferedBytes <= this.#maxEventBytes
  }

  /** Bytes of the unfinished event. */
  get bufferedBytes(): number {
    return (this.#rest?.length ?? 0) + (this.#lines?.length ?? this.#data?.length ?? 0)
  }

  #parseLine(part: Buffer): void {
    let line = part
    if (this.#rest) {
      this.#rest.add(part)
      line = concatBuffers(this.#rest.take())
      this.#rest = null
    }
    if (this.#isAtStart) {
      this.#isAtStart = false
      if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3)
    }
    if (line.length === 0) return this.#finishEvent()
    const found = line.indexOf(COLON)
    const colon = found < 0 ? line.length : found
    if (colon === 0 || colon > LONGEST_FIELD) return
    this.#parseField(
      line.toString('latin1', 0, colon),
      line.subarray(line[colon + 1] === SPACE ? colon + 2 : colon + 1)
    )
  }

  #parseField(name: string, value: Buffer): void {
    if (name === 'data') {
      this.#addData(value)
    } else if (name === 'event') {
      // no known type is longer, and a longer one would take memory that is not counted
      this.#type = value.length <= MAX_TYPE ? value.toString('utf8') : UNKNOWN_TYPE
    } else if (name === 'id') {
      // the id is sent back in a header, which allows no control characters
      const id = value.toString('latin1')
      // oxlint-disable-next-line no-control-regex
      if (value.length <= MAX_ID && !/[\0-\x08\x0a-\x1f\x7f]/.test(id)) this.#id = id
    } else if (name === 'retry') {
      const digits = value.toString('latin1')
      if (/^\d{1,9}$/.test(digits)) this.retryMs = Number(digits)
    }
  }

  #addData(value: Buffer): void {
    if (this.#data === null) {
      this.#data = value
      return
    }
    if (this.#lines === null) {
      this.#lines = new BufferCollector()
      this.#lines.add(this.#data)
    }
    this.#lines.add(LINE_BREAK)
    this.#lines.add(value)
  }

  #finishEvent(): void {
    if (this.#id !== null) this.lastEventId = this.#id
    const type = this.#type
    const data = this.#lines ? concatBuffers(this.#lines.take()) : this.#data
    this.#type = ''
    this.#data = null
    this.#lines = null
    if (data !== null && data.length > 0) this.#onEvent(data, type)
  }
}
