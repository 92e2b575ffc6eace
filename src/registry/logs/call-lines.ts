import type { Backlog } from './backlog.ts'
import type { CallRow } from './calls.ts'

/** Calls that become rows by one statement: it takes the embedded store some 5 ms, for which others wait. */
export const LINE_CALLS = 250

/** Size of most buffers. A call without contents takes 350 bytes. */
const BUFFER_BYTES = 131_072
/** Calls that become JSON together: one by one takes a quarter longer. */
const TOGETHER = 25
/** Buffers that are kept for the next calls */
const MAX_SPARE = 32

const NEWLINE = 0x0a
const COMMA = 0x2c

/** Some calls as a line of JSON text: an array of rows, and a newline */
export interface CallLine {
  readonly calls: number
  readonly bytes: Buffer
}

/** Returns the number of calls of lines. */
export const callsOf = (lines: readonly Pick<CallLine, 'calls'>[]): number =>
  lines.reduce((sum, { calls }) => sum + calls, 0)

/** Returns the JSON array of the rows of all lines. */
export function rowsOf(lines: readonly CallLine[]): string {
  const arrays = lines.map(({ bytes }) => bytes.toString('utf8', 0, bytes.length - 1))
  return arrays.length === 1 ? arrays[0]! : `[${arrays.map((array) => array.slice(1, -1)).join()}]`
}

/** Line to which calls are added */
interface OpenLine {
  buffer: Buffer
  calls: number
  /** Length of the JSON array in `buffer` */
  length: number
}

/**
 * Keeps calls as JSON in buffers outside of the heap. As objects they would outlive two young garbage collections, and
 * fill the old generation of a busy gateway until all of it is collected. `size`: maximum number of lines of a write
 */
export function createCallBacklog(size: number): Backlog<CallRow, readonly CallLine[]> {
  const lines: OpenLine[] = []
  const spare: Buffer[] = []
  let recent: CallRow[] = []
  let length = 0
  /** Lines that `oldest` returned */
  let taken = 0

  /** Returns a line with room for calls. */
  const lineFor = (calls: number, bytes: number): OpenLine => {
    const last = lines.length > taken ? lines.at(-1) : undefined
    if (last && last.calls + calls <= LINE_CALLS && last.length + bytes < last.buffer.length) return last
    const buffer = bytes < BUFFER_BYTES && spare.pop()
    const line = { buffer: buffer || Buffer.allocUnsafeSlow(Math.max(BUFFER_BYTES, bytes + 1)), calls: 0, length: 0 }
    lines.push(line)
    return line
  }
  const pack = () => {
    if (recent.length === 0) return
    const json = JSON.stringify(recent)
    const line = lineFor(recent.length, Buffer.byteLength(json))
    const { buffer, calls, length: end } = line
    // continues the array: `[a]` and `[b]` become `[a,b]`
    const at = calls === 0 ? 0 : end - 1
    line.length = at + buffer.write(json, at)
    if (at > 0) buffer[at] = COMMA
    line.calls += recent.length
    recent = []
  }

  return {
    get length() {
      return length
    },
    add(row) {
      length += 1
      if (recent.push(row) === TOGETHER) pack()
    },
    oldest() {
      pack()
      const oldest = lines.slice(0, size)
      taken = oldest.length
      return oldest.map(({ buffer, calls, length: end }) => {
        buffer[end] = NEWLINE
        return { calls, bytes: buffer.subarray(0, end + 1) }
      })
    },
    removeOldest() {
      const removed = lines.splice(0, taken)
      taken = 0
      for (const { buffer } of removed)
        if (buffer.length === BUFFER_BYTES && spare.length < MAX_SPARE) spare.push(buffer)
      const calls = callsOf(removed)
      length -= calls
      return calls
    }
  }
}
