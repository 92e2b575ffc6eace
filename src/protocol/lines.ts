import { BufferCollector, concatBuffers } from '../json/buffer-list.ts'

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

export interface LineReader {
  push(chunk: Buffer): void
  /** Bytes of the unfinished line. */
  readonly bufferedBytes: number
}

export interface LineReaderOptions {
  readonly maxBytes: number
  /** Receives each line without its end; never empty. */
  readonly onLine: (line: Buffer) => void
  /** Called when a line exceeds the limit. Nothing is read after that. */
  readonly onTooLong: () => void
}

/** Splits a byte stream into lines and buffers at most one line within the limit. */
export function createLineReader({ maxBytes, onLine, onTooLong }: LineReaderOptions): LineReader {
  // small chunks are merged: a separate Buffer of a few bytes takes a hundred times its length
  const buffered = new BufferCollector()
  let isTooLong = false

  const take = (tail: Buffer) => {
    const line = buffered.length === 0 ? tail : concatBuffers([...buffered.take(), tail])
    const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length
    if (end > 0) onLine(line.subarray(0, end))
  }

  return {
    get bufferedBytes() {
      return buffered.length
    },
    push(chunk) {
      let start = 0
      while (!isTooLong) {
        const end = chunk.indexOf(LINE_FEED, start)
        const rest = (end < 0 ? chunk.length : end) - start
        if (buffered.length + rest > maxBytes) {
          isTooLong = true
          buffered.take()
          return onTooLong()
        }
        if (end < 0) break
        take(chunk.subarray(start, end))
        start = end + 1
      }
      if (isTooLong || start === chunk.length) return
      buffered.add(chunk.subarray(start))
    }
  }
}
