import assert from 'node:assert/strict'
import fc from 'fast-check'
import { createByteSearch } from '../../src/lib/byte-search.ts'
import { createScreen } from '../../src/upstream/transport/result-secrets.ts'
import { holds } from './property.ts'

/** Few distinct letters, so that partial matches are frequent. */
const letters = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b', '\u00e9'), minLength, maxLength }).map((text) => Buffer.from(text))

holds(
  'SR-M10 a search for several patterns finds what a search for each finds first, of several there the longest',
  [fc.array(letters(2, 9), { maxLength: 6 }), letters(0, 200), fc.nat(40), fc.nat(40)],
  (patterns, bytes, skipped, cut) => {
    const [start, end] = [skipped, Math.max(bytes.length - cut, 0)]
    const part = bytes.subarray(0, end)
    const starts = patterns.map((pattern) => part.indexOf(pattern, start)).filter((at) => at >= start)
    const first = Math.min(...starts)
    const here = patterns.filter((pattern) => part.subarray(first, first + pattern.length).equals(pattern))
    const longest = Math.max(...here.map(({ length }) => length))
    const expected = starts.length === 0 ? null : { start: first, end: first + longest }
    assert.deepEqual(createByteSearch(patterns).find(bytes, start, end), expected)
  }
)

const secrets = ['s3cr3t-"\\/<&>\u00e9', 'nested-tok=en+1', 'u0041bcdefgh', '12345678901234']
const screen = createScreen({ mode: 'redact', secrets: () => secrets, onFound() {} })

const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(...secrets, ...secrets.map((secret) => JSON.stringify(secret)), '\\', '"', '\\u', '\n', 'n', '\\"')
)
const text = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(''))
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.constantFrom(12_345_678_901_234, -1.5, true, null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4 })
  )
})).value

/** Returns all strings of a value, keys included, in order. */
const stringsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Array.isArray(value)
    ? value.flatMap(stringsOf)
    : Object.entries(value).flatMap(([key, each]) => [key, ...stringsOf(each)])
}

const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Encoders that escape characters which `JSON.stringify` leaves unchanged: as is, PHP, Go, Python. */
const encoders: readonly ((whole: string) => string)[] = [
  (whole) => whole,
  (whole) => whole.replaceAll('/', '\\/'),
  (whole) => whole.replace(/[<>&]/g, unicode),
  (whole) => whole.replace(/[^\x20-\x7e]/g, unicode),
  (whole) => whole.replace(/[^\x20-\x7e]/g, unicode).replaceAll('/', '\\/')
]

holds(
  'SR-M10 a screened message is JSON still, holds no secret, and is the same buffer where it held none',
  [json, fc.constantFrom(...encoders)],
  (value, encode) => {
    const bytes = Buffer.from(encode(JSON.stringify({ result: value })))
    const screened = screen(bytes)!
    const after = JSON.parse(screened.toString()) as unknown
    const before = JSON.parse(bytes.toString()) as unknown
    const held = stringsOf(before).some((each) => secrets.some((secret) => each.includes(secret)))
    for (const shown of stringsOf(after)) for (const secret of secrets) assert.ok(!shown.includes(secret), shown)
    if (!held && screened === bytes) return
    if (!held) assert.ok(stringsOf(after).join('').includes('***'))
    else assert.notEqual(screened, bytes)
  }
)
