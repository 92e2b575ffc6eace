/** A request in parts; the text holds bytes (latin1). */
export interface Request {
  readonly method: string
  readonly path: string
  readonly version: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

export const bytesOf = (text: string) => Buffer.from(text).toString('latin1')

export function write({ method, path, version, headers, body }: Request): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} ${version}\r\n${lines.join('')}\r\n${body}`
}

/** Returns the request with a `Content-Length` that matches its body. */
export const withContentLength = (request: Request): Request => ({
  ...request,
  headers: [
    ...request.headers.filter(([name]) => name.toLowerCase() !== 'content-length'),
    ...(request.body === '' && request.method === 'GET'
      ? []
      : ([['Content-Length', `${request.body.length}`]] as const))
  ]
})

/** Several spaces between its parts are allowed (RFC 9112 3), since they do not affect message framing. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]+) +[\x21-\x7e\x80-\xff]+ +HTTP\/1\.[01]$/
const FIELD = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/

/** The requests in a text by a strict reading of RFC 9112: any ambiguity counts as broken. */
export interface ParsedRequests {
  /** Methods of the complete requests. */
  readonly complete: readonly string[]
  /** True if bytes that are not a complete request follow. */
  readonly hasRest: boolean
}

export function parseRequests(text: string): ParsedRequests {
  const complete: string[] = []
  let at = 0
  for (;;) {
    // empty lines before a request are skipped (RFC 9112 2.2), lone CR and LF too
    while (text[at] === '\r' || text[at] === '\n') at++
    if (at === text.length) return { complete, hasRest: false }
    const found = readRequest(text, at)
    if (!found) return { complete, hasRest: true }
    complete.push(found.method)
    at = found.end
  }
}

function readRequest(text: string, at: number): { method: string; end: number } | undefined {
  const end = text.indexOf('\r\n\r\n', at)
  if (end < 0) return undefined
  const [first = '', ...lines] = text.slice(at, end).split('\r\n')
  const method = REQUEST_LINE.exec(first)?.[1]
  const fields = lines.map((line) => FIELD.exec(line))
  if (method === undefined || fields.includes(null)) return undefined
  const valuesOf = (name: string) =>
    fields.filter((field) => field![1]!.toLowerCase() === name).map((field) => field![2]!)
  const bodyEnd = endOfBody(text, end + 4, valuesOf('content-length'), valuesOf('transfer-encoding'))
  return bodyEnd === undefined ? undefined : { method, end: bodyEnd }
}

function endOfBody(
  text: string,
  at: number,
  lengths: readonly string[],
  codings: readonly string[]
): number | undefined {
  if (lengths.length + codings.length > 1) return undefined
  if (codings.length === 1) return codings[0]!.toLowerCase() === 'chunked' ? endOfChunks(text, at) : undefined
  if (lengths.length === 0) return at
  if (!/^\d{1,12}$/.test(lengths[0]!)) return undefined
  const end = at + Number(lengths[0])
  return end <= text.length ? end : undefined
}

function endOfChunks(text: string, start: number): number | undefined {
  for (let at = start; ;) {
    const line = text.indexOf('\r\n', at)
    const size = line < 0 ? undefined : /^([\da-f]{1,8})(?:;[\t\x20-\x7e]*)?$/i.exec(text.slice(at, line))?.[1]
    if (size === undefined) return undefined
    const length = Number.parseInt(size, 16)
    if (length === 0) return endOfTrailers(text, line + 2)
    at = line + 2 + length + 2
    if (text.slice(at - 2, at) !== '\r\n') return undefined
  }
}

function endOfTrailers(text: string, start: number): number | undefined {
  for (let at = start; ;) {
    const line = text.indexOf('\r\n', at)
    if (line < 0) return undefined
    if (line === at) return line + 2
    if (!FIELD.test(text.slice(at, line))) return undefined
    at = line + 2
  }
}

/** One response on the wire. */
export interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  /** False while the body continues, as an event stream's does. */
  readonly isComplete: boolean
}

const hasNoBody = (status: number) => status < 200 || status === 204 || status === 304

/** Parses responses, without interim ones. `methods`: those of the requests, as far as known. */
export function readAnswers(text: string, methods: readonly string[]): Answer[] {
  const answers: Answer[] = []
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n\r\n', at)
    if (end < 0) break
    const [first = '', ...lines] = text.slice(at, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
    if (!status) throw new Error(`no status line: ${JSON.stringify(text.slice(at, at + 80))}`)
    const headers = new Map(
      lines.map((line) => [line.split(':', 1)[0]!.toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
    )
    const isBare = hasNoBody(status) || methods[answers.length] === 'HEAD'
    const body = isBare ? { text: '', end: end + 4, isComplete: true } : readBody(text, end + 4, headers)
    if (status >= 200) answers.push({ status, headers, body: body.text, isComplete: body.isComplete })
    at = body.end
  }
  return answers
}

function readBody(text: string, at: number, headers: ReadonlyMap<string, string>) {
  const length = headers.get('content-length')
  if (length !== undefined) {
    const end = Math.min(at + Number(length), text.length)
    return { text: text.slice(at, end), end, isComplete: end === at + Number(length) }
  }
  let body = ''
  for (let from = at; ;) {
    const line = text.indexOf('\r\n', from)
    const size = line < 0 ? NaN : Number.parseInt(text.slice(from, line), 16)
    if (Number.isNaN(size) || line + 2 + size > text.length) return { text: body, end: text.length, isComplete: false }
    if (size === 0) return { text: body, end: line + 4, isComplete: true }
    body += text.slice(line + 2, line + 2 + size)
    from = line + 2 + size + 2
  }
}
