export interface Answer {
  readonly status: number
  readonly bodyBytes: number
  readonly hasMarker: boolean
  /** Start of the body, for error messages. */
  readonly start: string
}

const HEAD_END = '\r\n\r\n'

/**
 * Parses consecutive HTTP responses on a connection, with `content-length` or chunked. Bodies are not kept; the marker
 * must arrive whole in one chunk of data. One request is in flight at a time.
 */
export function answerReader(marker: string, done: (answer: Answer) => void) {
  let head: Buffer | undefined
  let status = 0
  let start = ''
  let bodyBytes = 0
  let hasMarker = false
  /** Bytes of the body, or of the chunk, still to come; -1 until the head is complete. */
  let missing = -1
  let isChunked = false
  /** Unfinished text of a chunk's size line, or of the line end after a chunk. */
  let line = ''

  const begin = () => {
    head = undefined
    missing = -1
    line = ''
  }
  const finish = () => {
    begin()
    done({ status, bodyBytes, hasMarker, start })
  }

  function take(piece: Buffer): void {
    bodyBytes += piece.length
    hasMarker ||= piece.includes(marker)
    if (start === '') start = piece.toString('latin1', 0, 200)
  }

  function readHead(chunk: Buffer): Buffer | undefined {
    const bytes = head ? Buffer.concat([head, chunk]) : chunk
    const end = bytes.indexOf(HEAD_END)
    if (end < 0) {
      head = bytes
      return undefined
    }
    const text = bytes.toString('latin1', 0, end).toLowerCase()
    status = Number(text.slice(9, 12))
    bodyBytes = 0
    hasMarker = false
    start = ''
    isChunked = text.includes('transfer-encoding: chunked')
    missing = isChunked ? 0 : Number(/content-length: *(\d+)/.exec(text)?.[1] ?? 0)
    return bytes.subarray(end + HEAD_END.length)
  }

  /** Returns the bytes after this part of the body; undefined when the response is complete. */
  function readChunks(bytes: Buffer): void {
    let rest = bytes
    while (rest.length > 0) {
      if (missing > 0) {
        const piece = rest.subarray(0, missing)
        take(piece)
        missing -= piece.length
        rest = rest.subarray(piece.length)
        continue
      }
      const end = rest.indexOf('\n')
      line += rest.toString('latin1', 0, end < 0 ? rest.length : end)
      if (end < 0) return
      rest = rest.subarray(end + 1)
      const text = line.trim()
      line = ''
      // the empty line after a chunk, or after the last one
      if (text === '' && missing === 0) continue
      if (text === '') return finish()
      missing = Number.parseInt(text, 16)
      if (missing === 0) missing = -2
    }
  }

  return {
    reset: begin,
    read(chunk: Buffer): void {
      const body = missing === -1 ? readHead(chunk) : chunk
      if (!body) return
      if (isChunked) return readChunks(body)
      take(body)
      missing -= body.length
      if (missing <= 0) finish()
    }
  }
}
