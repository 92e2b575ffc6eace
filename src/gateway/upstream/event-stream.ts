import { Bytes } from './http-bytes.ts'

export interface EventStreamOptions {
  /** Bound of one event, unfinished lines included. */
  readonly maxEventBytes: number
  /** One event that has data: the bytes of its data lines, joined by LF. `type` is empty where none was given. */
  readonly onEvent: (data: Buffer, type: string) => void
}

export interface EventStream {
  /** The last id that came with a finished event, as it has to stand in `Last-Event-ID`; null where none came. */
  readonly lastEventId: string | null
  /** What the server asked for with `retry`, in milliseconds. */
  readonly retryMs: number | null
  /** False: the event is larger than allowed, nothing more can be read. */
  write(chunk: Buffer): boolean
}

const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58
const LINE_BREAK = Buffer.from('\n')
const LONGEST_FIELD = 'event'.length
const MAX_ID = 1024

/** Reads `text/event-stream` as the bytes come (HTML standard, 9.2.6). An event without its closing blank line is not one. */
export function createEventStream({ maxEventBytes, onEvent }: EventStreamOptions): EventStream {
  const rest = new Bytes()
  const data = new Bytes()
  let hasData = false
  let type = ''
  let id: string | null = null
  let lastEventId: string | null = null
  let retryMs: number | null = null
  let afterCarriageReturn = false
  let atStart = true

  const finishEvent = () => {
    if (id !== null) lastEventId = id
    const eventType = type
    type = ''
    hasData = false
    if (data.length > 0) onEvent(data.take(), eventType)
  }

  const takeField = (name: string, value: Buffer) => {
    if (name === 'data') {
      if (hasData) data.add(LINE_BREAK)
      hasData = true
      if (value.length > 0) data.add(value)
    } else if (name === 'event') {
      type = value.toString('utf8')
    } else if (name === 'id') {
      if (value.length <= MAX_ID && !value.includes(0)) id = value.toString('latin1')
    } else if (name === 'retry') {
      const digits = value.toString('latin1')
      if (/^\d{1,9}$/.test(digits)) retryMs = Number(digits)
    }
  }

  const takeLine = (part: Buffer) => {
    let line = part
    if (rest.length > 0) {
      rest.add(part)
      line = rest.take()
    }
    if (atStart) {
      atStart = false
      if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3)
    }
    if (line.length === 0) return finishEvent()
    const found = line.indexOf(COLON)
    const colon = found < 0 ? line.length : found
    if (colon === 0 || colon > LONGEST_FIELD) return
    takeField(line.toString('latin1', 0, colon), line.subarray(line[colon + 1] === SPACE ? colon + 2 : colon + 1))
  }

  return {
    get lastEventId() {
      return lastEventId
    },
    get retryMs() {
      return retryMs
    },
    write(chunk) {
      let at = afterCarriageReturn && chunk[0] === LF ? 1 : 0
      if (chunk.length > 0) afterCarriageReturn = false
      let lf = chunk.indexOf(LF, at)
      let cr = chunk.indexOf(CR, at)
      while (lf >= 0 || cr >= 0) {
        const end = lf < 0 || (cr >= 0 && cr < lf) ? cr : lf
        if (rest.length + end - at + data.length > maxEventBytes) return false
        takeLine(chunk.subarray(at, end))
        at = end + 1
        if (end === cr) {
          if (at === chunk.length) afterCarriageReturn = true
          else if (chunk[at] === LF) at++
        }
        if (lf >= 0 && lf < at) lf = chunk.indexOf(LF, at)
        if (cr >= 0 && cr < at) cr = chunk.indexOf(CR, at)
      }
      if (at < chunk.length) rest.add(chunk.subarray(at))
      return rest.length + data.length <= maxEventBytes
    }
  }
}
