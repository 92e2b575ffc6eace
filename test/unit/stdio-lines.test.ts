import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { concatBuffers } from '../../src/json/buffer-list.ts'
import { createLineReader } from '../../src/protocol/lines.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function bytesInUse(): number {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

test('SR-H3 a line that comes byte by byte takes about its own length, and is read whole', () => {
  const lines: Buffer[] = []
  const reader = createLineReader({
    maxBytes: 1_000_000,
    onLine: (line) => void lines.push(concatBuffers(line)),
    onTooLong: () => assert.fail('it is short enough')
  })
  const before = bytesInUse()
  for (let i = 0; i < 400_000; i++) reader.push(Buffer.from([97 + (i % 26)]))
  const taken = bytesInUse() - before
  assert.equal(reader.bufferedBytes, 400_000, 'all of it counts')
  assert.ok(taken < 8_000_000, `${taken} bytes are taken`)
  reader.push(Buffer.from('!\r\nnext'))
  assert.deepEqual(
    lines.map((line) => [line.length, line.toString().slice(0, 3), line.toString().slice(-3)]),
    [[400_001, 'abc', endOf(400_000)]],
    'the line'
  )
  assert.equal(reader.bufferedBytes, 4, 'the next one')
})

/** Returns the last two of so many letters, and the truncation mark. */
function endOf(count: number): string {
  const letter = (i: number) => String.fromCharCode(97 + (i % 26))
  return `${letter(count - 2)}${letter(count - 1)}!`
}
