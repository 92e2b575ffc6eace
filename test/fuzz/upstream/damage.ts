import { bytesOf } from '../message.ts'
import { fragments, mutateValue, putFragment } from '../mutate.ts'
import type { Random } from '../random.ts'

/** Bytes that are invalid in a JSON string literal, or that parsers treat differently. */
const insideStrings = [
  '\\q',
  '\\uZZZZ',
  '\\u12',
  '\\ud800',
  '\\udc00\\ud800',
  '\\u0000',
  '\\u001b[2J',
  '\\u202e',
  '\\r\\n\\r\\n## good\\nobey\\n',
  '\\',
  '"',
  '\x00',
  '\x01',
  '\x1b[31m',
  '\x7f',
  '\n',
  '\r\n',
  '\t',
  '\xff',
  '\xc3',
  '\xc0\xaf',
  '\xe0\x80\xaf',
  '\xed\xa0\x80',
  '\xf4\x90\x80\x80',
  '\xf8\x88\x80\x80\x80',
  '\xef\xbb\xbf',
  '\xe2\x80\xa8',
  'x-mcp-header \\q',
  'x-mcp-header',
  '__',
  '',
  ...[300, 70_000, 1_100_000].map((length) => 'a'.repeat(length))
]

const nested = (depth: number, open: string, close: string) => `${open.repeat(depth)}1${close.repeat(depth)}`

/** JSON texts of values, most of them invalid. */
const hostileValues = [
  ...fragments,
  nested(65, '[', ']'),
  nested(600, '{"a":', '}'),
  nested(100_000, '[', ']'),
  '['.repeat(100_000),
  '{"__proto__":{"enabled":true},"constructor":{"prototype":{"x":1}}}',
  '9'.repeat(5_000),
  '1e400',
  '-',
  '+1',
  '.5',
  '0x10',
  "'a'",
  'undefined',
  'nul',
  '""',
  '{}',
  '[]',
  'null',
  'true'
]

/** Inserts bytes into one string literal. */
function putIntoString(random: Random, text: string): string {
  const found = [...text.matchAll(/"(?:[^"\\]|\\.)*"/gs)]
  if (found.length === 0) return text
  const { index, 0: literal } = random.pick(found)
  const at = index + 1 + random.below(Math.max(1, literal.length - 1))
  return text.slice(0, at) + random.pick(insideStrings) + text.slice(at)
}

const flipped = (key: string) =>
  key.replace(/[a-z]/i, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase()))

/** Repeats a member, or adds one that careless parsers confuse with it. */
function doubleMember(random: Random, text: string): string {
  const found = [...text.matchAll(/"(\w+)":/g)]
  if (found.length === 0) return text
  const { index, 1: key = '' } = random.pick(found)
  const name = random.pick([
    key,
    flipped(key),
    `${key}\\u0000`,
    `${key} `,
    `\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}`,
    '__proto__'
  ])
  return `${text.slice(0, index)}"${name}":${random.pick(hostileValues)},${text.slice(index)}`
}

const ids = [
  'null',
  '"1"',
  '0',
  '-1',
  '1.0',
  '1e0',
  '1e400',
  '99999999999999999999',
  '{}',
  '[1]',
  'true',
  '"\\u0031"',
  '"\\q"'
]

/** Changes, removes or duplicates the id. */
function changeId(random: Random, text: string): string {
  const id = /"id":(?:"[^"]*"|[^,}]*),?/
  if (!id.test(text)) return text.replace('{', `{"id":${random.pick(ids)},`)
  return text.replace(id, (known) =>
    random.pick(['', `"id":${random.pick(ids)},`, `"id":${random.pick(ids)},${known}`])
  )
}

function changeValue(random: Random, text: string): string {
  try {
    const value = JSON.parse(Buffer.from(text, 'latin1').toString()) as unknown
    return bytesOf(JSON.stringify(mutateValue(random, value)))
  } catch {
    return putIntoString(random, text)
  }
}

const around: readonly ((text: string) => string)[] = [
  (text) => `\xef\xbb\xbf${text}`,
  (text) => `\v${text}`,
  (text) => `${text}}`,
  (text) => `${text}${text}`,
  (text) => `[${text}]`,
  (text) => `[${text},${text}]`,
  (text) => `${text}\0`,
  (text) => `\xff\xfe${text.split('').join('\0')}\0`,
  () => '',
  () => 'null',
  () => '[]',
  () => '"text"'
]

const cut = (random: Random, text: string) => text.slice(0, random.below(text.length + 1))

const ways: readonly ((random: Random, text: string) => string)[] = [
  putIntoString,
  putIntoString,
  putIntoString,
  (random, text) => putFragment(random, text, hostileValues),
  (random, text) => putFragment(random, text, hostileValues),
  changeValue,
  changeValue,
  doubleMember,
  changeId,
  cut,
  (random, text) => random.pick(around)(text)
]

/** Returns a message, or another JSON document, with one to three errors; bytes as latin1. */
export function damageJson(random: Random, text: string): string {
  let damaged = text
  for (let i = random.chance(0.7) ? 1 : 2 + random.below(2); i > 0; i--) damaged = random.pick(ways)(random, damaged)
  return damaged
}

const statusLines = [
  '200 OK',
  '202 Accepted',
  '204 No Content',
  '301 Moved',
  '307 Temporary Redirect',
  '400 Bad',
  '401 No',
  '403 No',
  '404 No',
  '405 No',
  '406 No',
  '409 No',
  '413 No',
  '429 Wait',
  '500 Oops',
  '502 No',
  '503 No',
  '599 X',
  '999 X',
  '100 Continue',
  '101 Switching Protocols',
  '0 X',
  'OK'
]
const typeLines = [
  'application/json',
  'application/json; charset=utf-16',
  'text/event-stream',
  'text/event-stream; charset=x',
  'text/html',
  '',
  'application/jsonp',
  'text/event-stream-x',
  '\xff'
]

/** Header lines; `origin` is that of the upstream, the only host that may be named. */
const headerLines = (origin: string) => [
  `Location: ${origin}/mcp`,
  `Location: ${origin}/elsewhere`,
  'Location: //',
  'Location: javascript:x',
  'Retry-After: 99999999999',
  'Retry-After: -1',
  'Retry-After: x',
  'Content-Encoding: gzip',
  'Content-Encoding: x',
  'Content-Length: 5',
  'Content-Length: 99999999',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: x',
  `X-Long: ${'a'.repeat(9_000)}`,
  `X-Longer: ${'a'.repeat(40_000)}`,
  ...[`Mcp-Session-Id: ${'a'.repeat(8_000)}`, 'Mcp-Session-Id: \xff', 'Mcp-Session-Id: ', 'Mcp-Session-Id: a b'],
  `WWW-Authenticate: Bearer resource_metadata="${origin}/elsewhere"`,
  'WWW-Authenticate: Bearer scope="\\',
  'WWW-Authenticate: Bearer resource_metadata="\\u',
  'Set-Cookie: a=b',
  'Connection: upgrade',
  'X : y',
  ' folded',
  'no colon',
  '\0: x'
]

/** Returns an HTTP response with a changed head or framing, truncated, or followed by bytes of another response. */
export function damageHttp(random: Random, text: string, origin: string): string {
  const headEnd = text.indexOf('\r\n\r\n')
  const [head, body] = [text.slice(0, headEnd), text.slice(headEnd + 4)]
  const withHead = (changed: string) => `${changed}\r\n\r\n${body}`
  switch (random.below(8)) {
    case 0:
      return withHead(head.replace(/^HTTP\/1\.1 [^\r]*/, `HTTP/1.1 ${random.pick(statusLines)}`))
    case 1:
      return withHead(head.replace(/Content-Type: [^\r]*/i, `Content-Type: ${random.pick(typeLines)}`))
    case 2:
    case 3:
      return withHead(`${head}\r\n${random.pick(headerLines(origin))}`)
    case 4:
      return withHead(
        head.replace(
          /Content-Length: \d+/,
          `Content-Length: ${random.pick(['0', '1', '7', '99999999', '-1', 'x', '1, 1'])}`
        )
      )
    case 5:
      return cut(random, text)
    case 6:
      return (
        text +
        random.pick([
          text,
          '\0',
          '\r\n\r\n',
          'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
        ])
      )
    default:
      return withHead(head.replace(/^HTTP\/1\.1/, random.pick(['HTTP/1.0', 'HTTP/2.0', 'ICY', '\0'])))
  }
}

const eventLines = [
  'event: endpoint',
  'event: ping',
  'event:',
  'event: message\0',
  'id: \0',
  `id: ${'9'.repeat(9_000)}`,
  'id: x\xff',
  'retry: 0',
  'retry: -1',
  'retry: 99999999999',
  ':',
  ': comment',
  'data:',
  'data',
  'unknown: x',
  '\xef\xbb\xbf'
]

/** Returns an event-stream frame with other fields, line ends or an early end. */
export function damageFrame(random: Random, frame: string): string {
  switch (random.below(6)) {
    case 0:
      return `${random.pick(eventLines)}\n${frame}`
    case 1:
      return frame.replace(/\n\n$/, `\n${random.pick(eventLines)}\n\n`)
    case 2:
      return frame.replaceAll('\n', random.pick(['\r', '\r\n', '\n\r', '\n\n']))
    case 3:
      return frame.replace('data: ', random.pick(['data:', 'data : ', 'Data: ', 'data: data: ', '']))
    case 4:
      return cut(random, frame)
    default:
      return frame.repeat(2 + random.below(20))
  }
}

/** Returns a line of stdio with other line ends, with extra output that is not a message, or without an end. */
export function damageLine(random: Random, line: string): string {
  const noise = [
    '',
    ' ',
    '\0',
    'log: started',
    '{',
    'null',
    '[]',
    '\xff\xfe',
    '\x1b[31mred\x1b[0m',
    'a'.repeat(100_000)
  ]
  switch (random.below(6)) {
    case 0:
      return `${random.pick(noise)}\n${line}`
    case 1:
      return random.pick(noise) + line
    case 2:
      return line.replace(/\n$/, random.pick(['\r\n', '\r', '', '\n\n\n', '\0\n', '\xe2\x80\xa8']))
    case 3:
      return line.replaceAll(',', random.pick([',\n', ',\r']))
    case 4:
      return cut(random, line)
    default:
      return line.repeat(2 + random.below(20))
  }
}
