import { BufferCollector, concatBuffers } from '../pieces.ts'

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

export interface LineReader {
  push(chunk: Buffer): void
  /** Bytes of the line that has not ended. */
  readonly held: number
}

export interface LineReaderOptions {
  readonly maxBytes: number
  /** One line without its end; never empty. */
  readonly onLine: (line: Buffer) => void
  /** The line under way is longer than the limit. Nothing is read after that. */
  readonly onTooLong: () => void
}

/** Cuts a byte stream into lines without ever holding more than one line of the limit. */
export function createLineReader({ maxBytes, onLine, onTooLong }: LineReaderOptions): LineReader {
  // chunks of a few bytes are put together: as buffers of their own they take a hundred times their length
  const held = new BufferCollector()
  let isTooLong = false

  const take = (tail: Buffer) => {
    const line = held.length === 0 ? tail : concatBuffers([...held.take(), tail])
    const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length
    if (end > 0) onLine(line.subarray(0, end))
  }

  return {
    get held() {
      return held.length
    },
    push(chunk) {
      let start = 0
      while (!isTooLong) {
        const end = chunk.indexOf(LINE_FEED, start)
        const rest = (end < 0 ? chunk.length : end) - start
        if (held.length + rest > maxBytes) {
          isTooLong = true
          held.take()
          return onTooLong()
        }
        if (end < 0) break
        take(chunk.subarray(start, end))
        start = end + 1
      }
      if (isTooLong || start === chunk.length) return
      held.add(chunk.subarray(start))
    }
  }
}
