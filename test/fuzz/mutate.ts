import { bytesOf, withContentLength, write, type Request } from './message.ts'
import type { Random } from './random.ts'

type Header = readonly [name: string, value: string]

const longText = 'a'.repeat(20_000)
const deep = `${'['.repeat(70)}${']'.repeat(70)}`

const texts = [
  '',
  ' ',
  'a',
  '\0',
  'a\0b',
  '\ud800',
  '😀',
  '__proto__',
  'constructor',
  '../x',
  '%00',
  '%2e%2e',
  "';--",
  '${jndi:x}',
  '\r\nX: y',
  'http://127.0.0.1',
  'file:///etc/passwd',
  'javascript:x',
  'towpath://',
  'alpha__',
  '__',
  '*',
  longText,
  'é'
]
const values: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  -0,
  [],
  {},
  [[]],
  [null],
  { a: 1 },
  { constructor: { prototype: 1 } },
  ...texts
]
/** JSON texts that `JSON.stringify` never produces. */
export const fragments = [
  '1e999',
  '-1e-999',
  '12345678901234567890123',
  deep,
  '{"__proto__":{"x":1}}',
  '{"a":1,"a":2}',
  '"\\ud800"',
  '"\\u0000"',
  'NaN',
  '01',
  '"\x01"',
  '[1,]',
  '{"a":',
  '"\xff"',
  '\xef\xbb\xbf{}',
  `[${'1,'.repeat(2_000)}1]`
]

/** Returns the value with a part removed, renamed or replaced. */
export function mutateValue(random: Random, value: unknown): unknown {
  if (random.chance(0.2) || typeof value !== 'object' || value === null) return random.pick(values)
  if (Array.isArray(value)) {
    if (value.length === 0 || random.chance(0.3)) return [...value, random.pick(values)] as unknown[]
    const at = random.below(value.length)
    return value.map((part: unknown, i) => (i === at ? mutateValue(random, part) : part))
  }
  const entries = Object.entries(value)
  if (entries.length === 0 || random.chance(0.2)) return { ...value, [random.pick(texts)]: random.pick(values) }
  const at = random.below(entries.length)
  const [key, part] = entries[at]!
  const way = random.below(7)
  if (way === 0) entries.splice(at, 1)
  else if (way === 1) entries[at] = [random.pick(texts), part]
  else entries[at] = [key, mutateValue(random, part)]
  return Object.fromEntries(entries)
}

function mutateText(random: Random, text: string): string {
  const at = random.below(text.length + 1)
  const cut = random.chance(0.5) ? random.below(4) : 0
  const put = random.pick([
    ...fragments,
    '',
    ',',
    '"',
    '{',
    '}',
    '[',
    ']',
    ':',
    '\\',
    '\n',
    String.fromCharCode(random.below(256))
  ])
  return text.slice(0, at) + put + text.slice(at + cut)
}

/** Replaces one string or value of the JSON with a fragment. */
export const putFragment = (random: Random, text: string, from: readonly string[] = fragments) => {
  const found = [...text.matchAll(/"(?:[^"\\]|\\.)*"|\d+|\{\}|\[\]/g)]
  if (found.length === 0) return random.pick(from)
  const { index, 0: old } = random.pick(found)
  return text.slice(0, index) + random.pick(from) + text.slice(index + old.length)
}

function mutateBody(random: Random, body: string): string {
  if (body === '') return random.pick([...fragments, '{}', '[]', 'null', longText])
  if (random.chance(0.2)) return putFragment(random, body)
  if (random.chance(0.25)) return mutateText(random, body)
  let value = JSON.parse(Buffer.from(body, 'latin1').toString()) as unknown
  for (let i = random.below(3); i >= 0; i--) value = mutateValue(random, value)
  return bytesOf(JSON.stringify(value))
}

const paths = [
  '//',
  '/..',
  '/%2e%2e/',
  '/%00',
  '/%zz',
  '/a%2Fb',
  '*',
  '',
  'http://127.0.0.1/health',
  'http://evil.example/mcp',
  '/health?',
  '/health?a=1&a=2',
  '/api/v0/tools?server[]=a',
  '/api/v0/tool?name=%00',
  '/api/v0/tool?name=__proto__',
  '/api/v0/servers/%20',
  '/API/V0/servers',
  '/mcp/',
  '/mcp?x=%',
  '/v0/groups//mcp',
  '/v0/groups/__proto__/mcp',
  '/v0/groups/%00/sse',
  '/docs/static/..%2f..%2fpackage.json',
  `/${'a'.repeat(200)}`,
  `/api/v0/servers/${'a'.repeat(200)}`,
  '/health#x',
  '/\xff'
]

function mutatePath(random: Random, path: string): string {
  if (random.chance(0.4)) return random.pick(paths)
  return (
    path +
    random.pick([
      '/',
      '?',
      '&x=1',
      '%00',
      '%',
      '?name=a&name=b',
      '?entity=',
      ';x',
      '#',
      '/..',
      '?force=maybe',
      '?server=%ff'
    ])
  )
}

const requestMethods = [
  'GET',
  'HEAD',
  'OPTIONS',
  'PUT',
  'PATCH',
  'DELETE',
  'TRACE',
  'POST',
  'PROPFIND',
  'QUERY',
  'CONNECT',
  'get'
]
const oddHeaders: readonly Header[] = [
  ['Host', 'evil.example'],
  ['Host', ''],
  ['Host', '[::1'],
  ['Origin', 'http://evil.example'],
  ['Origin', 'null'],
  ['Origin', '\xff'],
  ['Sec-Fetch-Site', 'cross-site'],
  ['Authorization', 'Bearer x'],
  ['Authorization', 'Basic x'],
  ['Authorization', 'Bearer'],
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', ';;'],
  ['Content-Type', ''],
  ['Content-Encoding', 'gzip'],
  ['Accept', 'text/html'],
  ['Accept', ''],
  ['Accept', ','.repeat(5_000)],
  ['Expect', '100-continue'],
  ['Expect', 'x'],
  ['Upgrade', 'websocket'],
  ['Upgrade', 'h2c'],
  ['Connection', 'close'],
  ['Connection', 'upgrade'],
  ['Connection', 'content-length'],
  ['TE', 'trailers'],
  ['Mcp-Session-Id', 'x'],
  ['Mcp-Session-Id', '\xff'],
  ['Mcp-Session-Id', 'a'.repeat(5_000)],
  ['MCP-Protocol-Version', '1900-01-01'],
  ['MCP-Protocol-Version', '2026-07-28'],
  ['MCP-Protocol-Version', '2099-01-01'],
  ['Mcp-Method', 'ping'],
  ['Mcp-Name', '=?base64?!?='],
  ['Mcp-Name', '=?base64?='],
  ['Mcp-Param-X', 'y'],
  ['Last-Event-ID', 'x'],
  ['Last-Event-ID', '1-1'],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-Long', longText],
  ['__proto__', 'x'],
  ['constructor', 'x'],
  ['Cookie', 'access_token=x'],
  ['Access-Control-Request-Method', 'POST'],
  ['Range', 'bytes=0-'],
  ['If-None-Match', '*'],
  ['Traceparent', '00-x'],
  ['X-HTTP-Method-Override', 'DELETE']
]

function mutateHeaders(random: Random, headers: readonly Header[]): Header[] {
  if (headers.length === 0) return [random.pick(oddHeaders)]
  const changed = [...headers]
  const at = random.below(changed.length)
  const way = random.below(4)
  if (way === 0) changed.splice(at, 1)
  else if (way === 1) changed.splice(at, 0, changed[at]!)
  else if (way === 2) changed[at] = [changed[at]![0], random.pick(texts.slice(0, -3)).replace(/[^\t\x20-\x7e]/g, '')]
  else changed.splice(at, 0, random.pick(oddHeaders))
  return changed
}

/** Changes the meaning of a request, but keeps it one request with valid framing. */
export function mutateMeaning(random: Random, seed: Request): Request {
  let request = seed
  for (let i = random.below(3); i >= 0; i--) {
    const what = random.below(10)
    if (what < 5) request = { ...request, body: mutateBody(random, seed.body) }
    else if (what < 8) request = { ...request, headers: mutateHeaders(random, request.headers) }
    else if (what < 9) request = { ...request, path: mutatePath(random, request.path) }
    else request = { ...request, method: random.pick(requestMethods) }
  }
  return withContentLength(request)
}

const chunkSizes = [
  '0',
  '5',
  '5 ',
  ' 5',
  '0x5',
  '+5',
  '-5',
  '5;a=b',
  '5;a="\n"',
  '5\n',
  'FFFFFFFFFFFFFFFF1',
  '00000005',
  'g',
  ''
]
const lengths = ['0', '5', '+5', '-1', '5,5', '5, 6', '0x5', '5 5', '5\v', '1e1', '99999999999999999999', '', '\u00a05']
const codings = [
  'chunked',
  'xchunked',
  'chunked, identity',
  'identity, chunked',
  'chunked, chunked',
  'CHUNKED',
  '"chunked"',
  '\vchunked',
  'identity',
  'gzip, chunked',
  ''
]
const fieldNames = ['Content-Length', 'Transfer-Encoding']
const ends = ['\r\n', '\n', '\r', '\r\n ', '\r\n\t', '\0\r\n', '']

/** A request placed where a parser with a wrong message length would continue. */
const SMUGGLED = 'GET /metadata HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'

const chunked = (random: Random, body: string) =>
  `${random.chance(0.5) ? body.length.toString(16) : random.pick(chunkSizes)}\r\n${body}${random.pick(ends)}0\r\n${random.pick(['', 'X: y\r\n', 'Content-Length: 5\r\n', 'X : y\r\n'])}\r\n`

/** Returns a request with framing of request-smuggling attacks: its end is ambiguous. */
export function mutateFraming(random: Random, seed: Request): string {
  const body = random.chance(0.5) ? seed.body : seed.body.slice(0, 5)
  const framed: Header[] = Array.from({ length: 1 + random.below(2) }, () =>
    random.pick([
      ['Content-Length', random.chance(0.5) ? `${body.length}` : random.pick(lengths)],
      ['Transfer-Encoding', random.chance(0.5) ? 'chunked' : random.pick(codings)]
    ])
  )
  const headers: Header[] = [...seed.headers, ...framed].map(([name, value]) => {
    if (!fieldNames.includes(name) || random.chance(0.7)) return [name, value]
    return [
      random.pick([
        `${name} `,
        ` ${name}`,
        `${name}\0`,
        name.replace('-', '_'),
        `${name}\t`,
        `X: y\n${name}`,
        `X: y\r${name}`
      ]),
      value
    ]
  })
  const isChunked = framed.some(([name]) => name.startsWith('T'))
  const text = write({ ...seed, headers, body: isChunked ? chunked(random, body) : body })
  return damageLines(random, text) + SMUGGLED
}

const damageLines = (random: Random, text: string) => {
  if (random.chance(0.6)) return text
  const breaks = [...text.matchAll(/\r\n/g)]
  const { index } = random.pick(breaks)
  return text.slice(0, index) + random.pick(ends) + text.slice(index + 2)
}

/** Inserts, deletes or changes bytes, writes an invalid version, or appends a second request. */
export function mutateBytes(random: Random, seed: Request): string {
  let text = write(
    withContentLength({
      ...seed,
      version: random.chance(0.2)
        ? random.pick(['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.10', 'http/1.1', ''])
        : seed.version
    })
  )
  for (let i = random.below(4); i > 0; i--) {
    const at = random.below(text.length)
    text =
      text.slice(0, at) +
      random.pick(['', '\0', '\r', '\n', '\r\n\r\n', ' ', ':', '\xff', 'a']) +
      text.slice(at + random.below(3))
  }
  if (random.chance(0.2)) return text.slice(0, random.below(text.length))
  return random.chance(0.5) ? text + SMUGGLED : text
}
