import assert from 'node:assert/strict'
import fc from 'fast-check'
import { concatBuffers, totalLength } from '../../src/json/buffer-list.ts'
import { EventStream } from '../../src/protocol/event-stream.ts'
import { createLineReader } from '../../src/protocol/lines.ts'
import { holds } from './property.ts'

/** Splits a byte stream into chunks of any size, empty ones included. */
function inPieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = i < sizes.length ? sizes[i]! : bytes.length
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

const sizes = fc.array(fc.nat(5), { maxLength: 60 })
const line = fc.string({ unit: fc.constantFrom('d', 'a', ':', ' ', 'é', '\ufeff', '0'), maxLength: 6 })
const field = fc.oneof(
  line,
  line.map((value) => `data:${value}`),
  line.map((value) => `data: ${value}`),
  fc.constantFrom('data', 'event: message', 'event:x', 'id: 7', 'id', 'retry: 30', ': comment', '', '')
)
const end = fc.constantFrom('\n', '\r', '\r\n')
const stream = fc.array(fc.tuple(field, end), { maxLength: 20 }).map((lines) => lines.flat().join(''))

interface Event {
  readonly type: string
  readonly data: string
}

/** Parses the whole text as in the HTML standard 9.2.6. */
function eventsOf(text: string): Event[] {
  const events: Event[] = []
  let data: string[] = []
  let type = ''
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)
  for (const each of lines.slice(0, -1)) {
    if (each === '') {
      const whole = data.join('\n')
      if (whole !== '') events.push({ type, data: whole })
      data = []
      type = ''
      continue
    }
    const [name, value = ''] = each.includes(':')
      ? [each.slice(0, each.indexOf(':')), each.slice(each.indexOf(':') + 1)]
      : [each]
    const plain = value.startsWith(' ') ? value.slice(1) : value
    if (name === 'data') data.push(plain)
    if (name === 'event') type = plain
  }
  return events
}

holds(
  'an event stream is read the same in whatever pieces it comes, and as the standard says',
  [stream, sizes],
  (text, cuts) => {
    const events: Event[] = []
    const reader = new EventStream(1_000_000, (data, type) =>
      events.push({ type, data: concatBuffers(data).toString() })
    )
    for (const piece of inPieces(Buffer.from(text), cuts)) assert.ok(reader.write(piece))
    assert.deepEqual(events, eventsOf(text))
  }
)

holds(
  'no event beyond the limit is given out, whatever its pieces',
  [stream, sizes, fc.integer({ min: 1, max: 12 })],
  (text, cuts, max) => {
    const reader = new EventStream(max, (data) => assert.ok(totalLength(data) <= max))
    for (const piece of inPieces(Buffer.from(text), cuts)) if (!reader.write(piece)) return
  }
)

const output = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 12 })
  .map((lines) => lines.flat().join(''))

holds('lines of a process are the same in whatever pieces they come', [output, line, sizes], (text, rest, cuts) => {
  const lines: string[] = []
  const reader = createLineReader({
    maxBytes: 1_000,
    onLine: (each) => lines.push(concatBuffers(each).toString()),
    onTooLong: () => assert.fail('too long')
  })
  for (const piece of inPieces(Buffer.from(text + rest), cuts)) reader.push(piece)
  assert.deepEqual(
    lines,
    text
      .split('\n')
      .map((each) => each.replace(/\r$/, ''))
      .filter((each) => each !== '')
  )
})
