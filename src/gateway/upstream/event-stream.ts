import { GrowableBuffer } from './http-bytes.ts'

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
 * Reads `text/event-stream` as the bytes come (HTML standard, 9.2.6). An event without its closing blank line is not one.
 * A class, since an upstream may answer each call with a stream.
 */
export class EventStream {
  /** The last id that came with a finished event, as it has to stand in `Last-Event-ID`; null where none came. */
  lastEventId: string | null = null
  /** What the server asked for with `retry`, in milliseconds. */
  retryMs: number | null = null
  readonly #maxEventBytes: number
  readonly #onEvent: (data: Buffer, type: string) => void
  /** The beginning of a line that has not ended. */
  #rest: GrowableBuffer | null = null
  /** The first data line of the event; with a second one they move to `#lines`. */
  #data: Buffer | null = null
  #lines: GrowableBuffer | null = null
  #type = ''
  #id: string | null = null
  #isAfterCarriageReturn = false
  #isAtStart = true

  /**
   * `maxEventBytes` bounds one event, unfinished lines included. `onEvent` gets each event that has data: the bytes of its
   * data lines, joined by LF, and its type, empty where none was given.
   */
  constructor(maxEventBytes: number, onEvent: (data: Buffer, type: string) => void) {
    this.#maxEventBytes = maxEventBytes
    this.#onEvent = onEvent
  }

  /** False: the event is larger than allowed, nothing more can be read. */
  write(chunk: Buffer): boolean {
    let at = this.#isAfterCarriageReturn && chunk[0] === LF ? 1 : 0
    if (chunk.length > 0) this.#isAfterCarriageReturn = false
    let lf = chunk.indexOf(LF, at)
    let cr = chunk.indexOf(CR, at)
    while (lf >= 0 || cr >= 0) {
      const end = lf < 0 || (cr >= 0 && cr < lf) ? cr : lf
      if (this.held + end - at > this.#maxEventBytes) return false
      this.#takeLine(chunk.subarray(at, end))
      at = end + 1
      if (end === cr) {
        if (at === chunk.length) this.#isAfterCarriageReturn = true
        else if (chunk[at] === LF) at++
      }
      if (lf >= 0 && lf < at) lf = chunk.indexOf(LF, at)
      if (cr >= 0 && cr < at) cr = chunk.indexOf(CR, at)
    }
    if (at < chunk.length) (this.#rest ??= new GrowableBuffer()).add(chunk.subarray(at))
    return this.held <= this.#maxEventBytes
  }

  /** Bytes of the event that has not ended. */
  get held(): number {
    return (this.#rest?.length ?? 0) + (this.#lines?.length ?? this.#data?.length ?? 0)
  }

  #takeLine(part: Buffer): void {
    let line = part
    if (this.#rest) {
      this.#rest.add(part)
      line = this.#rest.take()
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
    this.#takeField(line.toString('latin1', 0, colon), line.subarray(line[colon + 1] === SPACE ? colon + 2 : colon + 1))
  }

  #takeField(name: string, value: Buffer): void {
    if (name === 'data') {
      this.#takeData(value)
    } else if (name === 'event') {
      // a longer one is no type that anybody knows, and would be held without being counted
      this.#type = value.length <= MAX_TYPE ? value.toString('utf8') : UNKNOWN_TYPE
    } else if (name === 'id') {
      // it goes back in a header, which takes no control characters
      const id = value.toString('latin1')
      // oxlint-disable-next-line no-control-regex
      if (value.length <= MAX_ID && !/[\0-\x08\x0a-\x1f\x7f]/.test(id)) this.#id = id
    } else if (name === 'retry') {
      const digits = value.toString('latin1')
      if (/^\d{1,9}$/.test(digits)) this.retryMs = Number(digits)
    }
  }

  #takeData(value: Buffer): void {
    if (this.#data === null) {
      this.#data = value
      return
    }
    if (this.#lines === null) {
      this.#lines = new GrowableBuffer()
      this.#lines.add(this.#data)
    }
    this.#lines.add(LINE_BREAK)
    this.#lines.add(value)
  }

  #finishEvent(): void {
    if (this.#id !== null) this.lastEventId = this.#id
    const type = this.#type
    const data = this.#lines?.take() ?? this.#data
    this.#type = ''
    this.#data = null
    this.#lines = null
    if (data !== null && data.length > 0) this.#onEvent(data, type)
  }
}
