import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { LARGE_BYTES } from '../../src/json/payload.ts'
import { createTurnQueue, createTurns } from '../../src/lib/turn-queue.ts'
import { parseBodiesAsBuffers } from '../../src/routes/mcp/mcp-request.ts'

test('a turn queue runs its steps in order, one per turn of the event loop', async () => {
  const queue = createTurnQueue()
  let turn = 0
  const count = () => void (turn++, (counting = setImmediate(count)))
  let counting = setImmediate(count)
  const seen: [string, number][] = []
  const steps = ['a', 'b', 'c'].map(async (name) => {
    await queue.next()
    seen.push([name, turn])
  })
  await Promise.all(steps)
  clearImmediate(counting)
  assert.deepEqual(
    seen.map(([name]) => name),
    ['a', 'b', 'c']
  )
  assert.deepEqual(
    seen.map(([, at]) => at - seen[0]![1]),
    [0, 1, 2]
  )
})

test('SR-H2 queues share the turns of the event loop: a turn has a step of one of them, of each in rotation', async () => {
  const createQueue = createTurns()
  let turn = 0
  const count = () => void (turn++, (counting = setImmediate(count)))
  let counting = setImmediate(count)
  const seen: string[] = []
  const turns: number[] = []
  const queues = [createQueue(), createQueue(), createQueue()]
  const add = async (name: string, at: number) => {
    await queues[at]!.next()
    seen.push(name)
    turns.push(turn)
  }
  await Promise.all([add('a1', 0), add('a2', 0), add('a3', 0), add('b1', 1), add('c1', 2), add('b2', 1)])
  clearImmediate(counting)
  assert.deepEqual(seen, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  assert.equal(new Set(turns).size, turns.length)
})

test('a turn queue that has become empty takes steps again', async () => {
  const queue = createTurnQueue()
  await queue.next()
  await new Promise(setImmediate)
  await queue.next()
})

test('SR-H2 a turn queue gives way to other work for some turns while that makes them long, and never for ever', async () => {
  let time = 0
  const queue = createTurns(3, () => time)()
  const turnsOf = async (msPerTurn: number) => {
    let turns = 0
    const count = () => {
      turns++
      time += msPerTurn
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    for (let step = 0; step < 10; step++) await queue.next()
    clearImmediate(counting)
    return turns
  }
  const idle = await turnsOf(0)
  assert.ok(idle <= 21, `${idle} turns, of which nothing was long`)
  const busy = await turnsOf(10)
  assert.ok(busy >= 30 && busy <= 61, `${busy} turns, of which each was long`)
})

test('large bodies of two endpoints share one queue: no turn of the event loop passes on two', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  const options = { bodyLimit: 1_000_000, largeBodies: createTurnQueue() }
  const turns: number[] = []
  let turn = 0
  const count = () => void (turn++, (counting = setImmediate(count)))
  for (const url of ['/mcp', '/sse']) {
    await app.register(async (scope) => {
      parseBodiesAsBuffers(scope, options)
      scope.post(url, (_request, reply) => {
        turns.push(turn)
        void reply.send()
      })
    })
  }
  let counting = setImmediate(count)
  const payload = JSON.stringify('x'.repeat(LARGE_BYTES))
  const headers = { 'content-type': 'application/json' }
  const sent = Array.from({ length: 20 }, (_, at) =>
    app.inject({ method: 'POST', url: at % 2 === 0 ? '/mcp' : '/sse', payload, headers })
  )
  for (const { statusCode } of await Promise.all(sent)) assert.equal(statusCode, 200)
  clearImmediate(counting)
  assert.deepEqual([turns.length, new Set(turns).size], [20, 20])
})
