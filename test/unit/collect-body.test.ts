import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { collectBody, joinInTurns } from '../../src/routes/mcp/collect-body.ts'
import { createTurnQueue } from '../../src/lib/turn-queue.ts'

const collected = (length: string | undefined, limit: number, send: (body: PassThrough) => void) =>
  new Promise<Buffer>((resolve, reject) => {
    const body = new PassThrough()
    const headers = length === undefined ? {} : { 'content-length': length }
    collectBody(headers, body, limit, (error, pieces) => (error ? reject(error) : resolve(Buffer.concat(pieces))))
    send(body)
  })

test('a body is its chunks, whether its length was declared or not', async () => {
  for (const length of ['6', undefined]) {
    const body = await collected(length, 6, (stream) => {
      stream.write('abc')
      setImmediate(() => stream.end('def'))
    })
    assert.equal(body.toString(), 'abcdef')
  }
  assert.equal((await collected('0', 6, (stream) => stream.end())).length, 0)
})

test('a body that is too long, has another length than declared or breaks off is refused once', async () => {
  const refused = (...given: Parameters<typeof collected>) =>
    collected(...given).then(
      () => assert.fail('it was accepted'),
      ({ statusCode }: { statusCode: number }) => statusCode
    )
  assert.equal(await refused('7', 6, (stream) => stream.end('abc')), 413)
  assert.equal(await refused(undefined, 6, (stream) => stream.end('abcdefg')), 413)
  assert.equal(await refused('5', 6, (stream) => stream.end('abc')), 400)
  assert.equal(await refused('5', 6, (stream) => stream.destroy(new Error('aborted'))), 400)
  const refusal = Object.assign(new Error('busy'), { statusCode: 503 })
  assert.equal(await refused('5', 6, (stream) => stream.emit('error', refusal)), 503)
})

test('a large body is joined over several turns of the event loop', async () => {
  const pieces = Array.from({ length: 64 }, (_, at) => Buffer.alloc(65_536, at))
  let turns = 0
  const count = () => void (turns++, (counting = setImmediate(count)))
  let counting = setImmediate(count)
  const whole = await joinInTurns(pieces, createTurnQueue())
  clearImmediate(counting)
  assert.ok(whole.equals(Buffer.concat(pieces)))
  assert.ok(turns >= 16, `${turns} turns`)
})
