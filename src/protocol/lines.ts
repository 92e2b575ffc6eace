import { BufferCollector, type BufferList, sliceBuffers } from '../json/buffer-list.ts'

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

export interface LineReader {
  push(chunk: Buffer): void
  /** Bytes of the unfinished line. */
  readonly bufferedBytes: number
}

export interface LineReaderOptions {
  readonly maxBytes: number
  /** Receives each line without its end, in the buffers of the chunks; never empty. `bytes`: its length. */
  readonly onLine: (line: BufferList, bytes: number) => void
  /** Called when a line exceeds the limit. Nothing is read after that. */
  readonly onTooLong: () => void
}

/** Splits a byte stream into lines and buffers at most one line within the limit. */
export function createLineReader({ maxBytes, onLine, onTooLong }: LineReaderOptions): LineReader {
  // small chunks are merged: a separate Buffer of a few bytes takes a hundred times its length
  const buffered = new BufferCollector()
  let isTooLong = false

  const take = (tail: Buffer) => {
    const bytes = buffered.length + tail.length
    if (buffered.length > 0) buffered.add(tail)
    const line = buffered.length === 0 ? [tail] : buffered.take()
    const end = line.at(-1)!.at(-1) === CARRIAGE_RETURN ? bytes - 1 : bytes
    if (end > 0) onLine(end === bytes ? line : sliceBuffers(line, 0, end), end)
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
