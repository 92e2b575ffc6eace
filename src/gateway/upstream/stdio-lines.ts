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
  let parts: Buffer[] = []
  let size = 0
  let isTooLong = false

  const take = (tail: Buffer) => {
    const line = parts.length === 0 ? tail : Buffer.concat([...parts, tail])
    parts = []
    size = 0
    const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length
    if (end > 0) onLine(line.subarray(0, end))
  }

  return {
    get held() {
      return size
    },
    push(chunk) {
      let start = 0
      while (!isTooLong) {
        const end = chunk.indexOf(LINE_FEED, start)
        const rest = (end < 0 ? chunk.length : end) - start
        if (size + rest > maxBytes) {
          isTooLong = true
          parts = []
          size = 0
          return onTooLong()
        }
        if (end < 0) break
        take(chunk.subarray(start, end))
        start = end + 1
      }
      if (isTooLong || start === chunk.length) return
      parts.push(chunk.subarray(start))
      size += chunk.length - start
    }
  }
}
