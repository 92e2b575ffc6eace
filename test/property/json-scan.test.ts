import assert from 'node:assert/strict'
import fc from 'fast-check'
import { characterSteps, HAS_LONE_SURROGATES, textSteps } from '../../src/json/text.ts'
import { FOUND_SUSPECT } from '../../src/json/scan-module.ts'
import { isInScanBuffer, scanBuffers, scanText } from '../../src/json/scan.ts'
import { checkJson, JsonError } from '../../src/json/json.ts'
import { skipValueSteps } from '../../src/json/bytes.ts'
import { complete } from '../../src/lib/time-slice.ts'
import { readJoined } from '../../src/json/buffer-list.ts'
import { holds } from './property.ts'

const limits = { depth: 64, elements: Infinity }

const check = (bytes: Buffer) => complete(textSteps(bytes))
const checkEachCharacter = (bytes: Buffer) => complete(characterSteps(bytes))

/** Returns the result of the work; `problem` if it rejects the text. */
function outcome<T>(work: () => T): T | string {
  try {
    return work()
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error))
    return error.problem
  }
}

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Puts the bytes into one of `scanBuffers`, between two other texts that must not be read. */
function inRoom(bytes: Buffer, before: number): Buffer {
  const memory = scanBuffers[before % 2]!.open()
  memory.fill('\\u"\u0001', 0, before + bytes.length + 200)
  memory.set(bytes, before)
  return memory.subarray(before, before + bytes.length)
}

const good = [
  '\\n',
  '\\"',
  '\\\\',
  '\\/',
  '\\b',
  '\\u0041',
  '\\u007f',
  '\\u005F',
  '\\u0038',
  '\\u0430',
  '\\u00e9',
  '\\uD7ff',
  '\\ud83d\\uDE00',
  'é',
  '😀',
  'x',
  '"\\\\"'.slice(1, 3)
]
const bad = ['\\q', '\\x41', '\\u12', '\\u00g0', '\\U0041', '\n', '\t', '\r', '\u0001', '\u001f', '\\', '\\u']
const halves = ['\\ud83d', '\\ude00', '\\uDBFF\\u0041', '\\ud83d\\ud83d']

/** Plain text with lengths near those of blocks and chunks, so that escapes fall on their borders. */
const gap = fc.oneof(
  { weight: 6, arbitrary: fc.nat(12) },
  { weight: 3, arbitrary: fc.integer({ min: 40, max: 140 }) },
  { weight: 1, arbitrary: fc.integer({ min: 980, max: 1_060 }) },
  { weight: 1, arbitrary: fc.integer({ min: 32_740, max: 32_790 }) }
)
const slashes = fc.integer({ min: 1, max: 200 }).map((count) => '\\'.repeat(count))
const piece = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...good) },
  { weight: 2, arbitrary: slashes },
  { weight: 1, arbitrary: fc.constantFrom(...bad, ...halves) }
)
const content = fc
  .array(fc.tuple(gap, piece), { maxLength: 12 })
  .map((parts) => parts.map(([length, text]) => 'x'.repeat(length) + text).join(''))
const dense = fc.array(fc.constantFrom(...good), { maxLength: 80 }).map((parts) => parts.join(''))

holds(
  'the scan refuses and allows what JSON.parse does, and leaves to the close look what it cannot decide',
  [fc.oneof(content, dense), fc.nat(70)],
  (inside, before) => {
    const text = `{"key":"${inside}"}`
    const bytes = Buffer.from(text)
    const room = inRoom(bytes, before)
    const isSuspect = [bytes, room].map((each) => (scanText(each) & FOUND_SUSPECT) !== 0)
    const found = outcome(() => checkEachCharacter(bytes))
    const label = JSON.stringify(text.length > 300 ? `${text.length}: ${text.replaceAll(/x{20,}/g, '…')}` : text)
    assert.equal(
      outcome(() => check(Buffer.from(text))),
      found,
      `elsewhere: ${label}`
    )
    assert.equal(
      outcome(() => check(room)),
      found,
      `in the room: ${label}`
    )
    const hasDoubt = found === 'syntax' || ((found as number) & HAS_LONE_SURROGATES) !== 0
    if (isInScanBuffer(room))
      assert.deepEqual(isSuspect, [hasDoubt, hasDoubt], `doubt elsewhere and in the room: ${label}`)
    // the parser looks for line breaks and tabs in strings
    const isStrict =
      found !== 'syntax' && outcome(() => checkJson(text, { ...limits, checksStrings: true })) === undefined
    assert.equal(isStrict, parses(text), label)
  },
  2_000
)

holds(
  'a value of bytes ends in the room where it ends elsewhere',
  [fc.oneof(content, dense), fc.nat(70), fc.nat(200)],
  (inside, before, cut) => {
    const text = `{"a":["${inside}",{"${inside}":1}],"b":"${inside}\\\\"}`
    const whole = Buffer.from(text)
    for (const bytes of [whole, whole.subarray(0, Math.max(0, whole.length - cut))]) {
      const expected = outcome(() => complete(skipValueSteps(bytes, 0, limits)))
      assert.equal(
        outcome(() => complete(skipValueSteps(inRoom(bytes, before), 0, limits))),
        expected,
        text.slice(0, 300)
      )
    }
  },
  1_000
)

holds(
  'a text in pieces is checked as the whole',
  [content, fc.array(fc.nat(400), { maxLength: 6 })],
  (inside, sizes) => {
    const bytes = Buffer.from(`["${inside}"]`)
    const pieces: Buffer[] = []
    let at = 0
    for (const size of sizes) pieces.push(bytes.subarray(at, (at = Math.min(at + size, bytes.length))))
    pieces.push(bytes.subarray(at))
    const expected = outcome(() => checkEachCharacter(Buffer.from(bytes)))
    const found = complete(
      // oxlint-disable-next-line require-yield
      readJoined(pieces, function* (joined) {
        assert.ok(joined.equals(bytes), 'the bytes are side by side')
        return outcome(() => check(joined))
      })
    )
    assert.equal(found, expected, inside.slice(0, 300))
  },
  500
)
