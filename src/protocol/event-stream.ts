import { BufferCollector, type BufferList, concatBuffers, sliceBuffers, totalLength } from '../json/buffer-list.ts'

const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58
const LINE_BREAK = Buffer.from('\n')
const LONGEST_FIELD = 'event'.length
/** Bytes from which a field is known: byte order mark, name, colon and space. */
const HEAD_BYTES = 3 + LONGEST_FIELD + 2
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
  readonly #onEvent: (data: BufferList, type: string) => void
  /** Start of an unfinished line. */
  #rest: BufferCollector | null = null
  /** First data line of the event; from the second on, lines are collected in `#lines`. */
  #data: BufferList | null = null
  #dataBytes = 0
  #lines: BufferCollector | null = null
  #type = ''
  #id: string | null = null
  #isAfterCarriageReturn = false
  #isAtStart = true

  /**
   * `maxEventBytes` limits one event, unfinished lines included. `onEvent` receives each event with data: its data
   * lines joined by LF, in the buffers of the chunks, and its type, empty if there was none.
   */
  constructor(maxEventBytes: number, onEvent: (data: BufferList, type: string) => void) {
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
    return (this.#rest?.length ?? 0) + (this.#lines?.length ?? this.#dataBytes)
  }

  #parseLine(part: Buffer): void {
    let line: BufferList = [part]
    if (this.#rest) {
      this.#rest.add(part)
      line = this.#rest.take()
      this.#rest = null
    }
    // a long value is not copied
    const head = line.length === 1 ? line[0]! : concatBuffers(sliceBuffers(line, 0, HEAD_BYTES))
    const hasMark = this.#isAtStart && head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf
    const start = hasMark ? 3 : 0
    this.#isAtStart = false
    if (head.length === start) return this.#finishEvent()
    const found = head.indexOf(COLON, start)
    const colon = found < 0 ? head.length : found
    if (colon === start || colon - start > LONGEST_FIELD) return
    const value = head[colon + 1] === SPACE ? colon + 2 : colon + 1
    this.#parseField(
      head.toString('latin1', start, colon),
      line.length === 1 ? [head.subarray(value)] : sliceBuffers(line, value, Infinity)
    )
  }

  #parseField(name: string, value: BufferList): void {
    if (name === 'data') return this.#addData(value)
    if (name !== 'event' && name !== 'id' && name !== 'retry') return
    const bytes = concatBuffers(value)
    if (name === 'event') {
      // no known type is longer, and a longer one would take memory that is not counted
      this.#type = bytes.length <= MAX_TYPE ? bytes.toString('utf8') : UNKNOWN_TYPE
    } else if (name === 'id') {
      // the id is sent back in a header, which allows no control characters
      const id = bytes.toString('latin1')
      // oxlint-disable-next-line no-control-regex
      if (bytes.length <= MAX_ID && !/[\0-\x08\x0a-\x1f\x7f]/.test(id)) this.#id = id
    } else {
      const digits = bytes.toString('latin1')
      if (/^\d{1,9}$/.test(digits)) this.retryMs = Number(digits)
    }
  }

  #addData(value: BufferList): void {
    if (this.#data === null) {
      this.#data = value
      this.#dataBytes = totalLength(value)
      return
    }
    if (this.#lines === null) {
      this.#lines = new BufferCollector()
      for (const buffer of this.#data) this.#lines.add(buffer)
    }
    this.#lines.add(LINE_BREAK)
    for (const buffer of value) this.#lines.add(buffer)
  }

  #finishEvent(): void {
    if (this.#id !== null) this.lastEventId = this.#id
    const type = this.#type
    const bytes = this.#lines?.length ?? this.#dataBytes
    const data = this.#lines ? this.#lines.take() : this.#data
    this.#type = ''
    this.#data = null
    this.#dataBytes = 0
    this.#lines = null
    if (data !== null && bytes > 0) this.#onEvent(data, type)
  }
}
