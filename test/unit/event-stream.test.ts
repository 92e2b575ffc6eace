import assert from 'node:assert/strict'
import { test } from 'node:test'
import { concatBuffers } from '../../src/json/buffer-list.ts'
import { EventStream } from '../../src/protocol/event-stream.ts'

interface StreamContents {
  events: [type: string, data: string][]
  lastEventId: string | null
  retryMs: number | null
  fits: boolean
}

function read(text: string | Uint8Array, { size = Infinity, maxEventBytes = 10_000 } = {}): StreamContents {
  const events: StreamContents['events'] = []
  const stream = new EventStream(maxEventBytes, (data, type) => events.push([type, concatBuffers(data).toString()]))
  const bytes = Buffer.from(text)
  let fits = true
  for (let at = 0; at < bytes.length && fits; at += size) fits = stream.write(bytes.subarray(at, at + size))
  return { events, lastEventId: stream.lastEventId, retryMs: stream.retryMs, fits }
}

/** Parses the text whole and split at every position: chunk borders must not matter. */
function readEveryWay(text: string): StreamContents {
  const whole = read(text)
  for (let size = 1; size <= Buffer.byteLength(text); size++)
    assert.deepEqual(read(text, { size }), whole, `cut by ${size}`)
  return whole
}

test('an event is the data between two blank lines', () => {
  const { events } = readEveryWay('event: message\ndata: {"a":"ü"}\n\ndata: 2\n\n')
  assert.deepEqual(events, [
    ['message', '{"a":"ü"}'],
    ['', '2']
  ])
})

test('lines end with LF, CR LF or CR, also in one stream', () => {
  for (const end of ['\n', '\r\n', '\r']) {
    const { events } = readEveryWay(`data: 1${end}${end}data: 2${end}${end}`)
    // a lone CR at the very end may be half of a CR LF, but the event is complete
    assert.deepEqual(events, [
      ['', '1'],
      ['', '2']
    ])
  }
  assert.deepEqual(readEveryWay('data: 1\r\ndata: 2\r\rdata: 3\n\n').events, [
    ['', '1\n2'],
    ['', '3']
  ])
})

test('several data lines are joined by a line feed, and only one space is taken off', () => {
  assert.deepEqual(readEveryWay('data:  1\ndata\ndata:2\n\n').events, [['', ' 1\n\n2']])
})

test('comments, unknown fields and events without data are passed over', () => {
  const { events } = readEveryWay(': keep-alive\n\nfoo: bar\nsomething long: x\nevent: ping\n\ndata: 1\n\n')
  assert.deepEqual(events, [['', '1']])
})

test('a byte order mark at the start is no part of the first field', () => {
  assert.deepEqual(readEveryWay('\ufeffdata: 1\n\n').events, [['', '1']])
})

test('an id counts when its event is complete, and stays until the next one', () => {
  assert.deepEqual(readEveryWay('id: a\ndata: 1\n\ndata: 2\n\nid: b\n').lastEventId, 'a')
  assert.equal(readEveryWay('data: 1\n\n').lastEventId, null)
  assert.equal(readEveryWay('id: a\nretry: 10\ndata:\n\n').lastEventId, 'a')
  assert.equal(read(Buffer.from('id: a\0b\ndata: 1\n\n')).lastEventId, null)
})

test('retry is taken where it is a whole number', () => {
  assert.equal(readEveryWay('retry: 250\n\n').retryMs, 250)
  assert.equal(readEveryWay('retry: soon\n\n').retryMs, null)
})

test('what the end of the stream cuts off is no event', () => {
  assert.deepEqual(readEveryWay('data: 1\n\ndata: 2\n').events, [['', '1']])
})

test('an event above the bound is refused, whether its line ends or not, and many small ones are not', () => {
  assert.equal(read(`data: ${'x'.repeat(200)}\n\n`, { maxEventBytes: 100 }).fits, false)
  assert.equal(read(`data: ${'x'.repeat(200)}`, { maxEventBytes: 100, size: 7 }).fits, false)
  assert.equal(read('data: xxxxxxxxxx\n'.repeat(20), { maxEventBytes: 100 }).fits, false)
  assert.equal(read('data: xxxxxxxxxx\n\n'.repeat(200), { maxEventBytes: 100, size: 7 }).events.length, 200)
})

test('a stream of line ends alone is read in linear time', () => {
  const started = process.cpuUsage()
  read(Buffer.alloc(4_000_000, '\r'))
  assert.ok(process.cpuUsage(started).user < 3_000_000)
})

test('the type of an event that has not ended holds no memory that is not counted', () => {
  const types: string[] = []
  const stream = new EventStream(10_000, (_data, type) => types.push(type))
  assert.ok(stream.write(Buffer.from(`event: ${'x'.repeat(9_000)}\ndata: 1\n\nevent: ${'y'.repeat(64)}\ndata: 1\n\n`)))
  assert.deepEqual(types, ['unknown', 'y'.repeat(64)])
})
