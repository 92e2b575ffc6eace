import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Payload } from '../../src/json/payload.ts'
import { createPacedWork, type PacedWork } from '../../src/lib/paced-work.ts'
import { InboundRequests } from '../../src/upstream/transport/inbound-requests.ts'
import type { Answer, InboundRequest } from '../../src/upstream/transport/call.ts'
import { unlimitedMemory } from '../../src/upstream/transport/memory-quota.ts'

const result: Answer = { kind: 'result', body: Payload.of('{"n":1}') }

/** Returns an inbound-request register with its responses by id. */
function open(max = 10, pace: PacedWork = (work) => work()) {
  const replies: string[] = []
  const reply = (id: string, { kind, body }: Answer) => void replies.push(`${id} ${kind} ${body.toString()}`)
  const asked = new InboundRequests(max, reply, unlimitedMemory, { handled: pace, fixed: pace })
  return { asked, replies }
}

test('a request is answered under its id, a ping at once, a failure with an error', async () => {
  const { asked, replies } = open()
  await asked.handle('"p"', 'ping', '{}', () => assert.fail('asked somebody'))
  await asked.handle('7', 'roots/list', '{}', async () => result)
  await asked.handle('8', 'roots/list', '{}', () => Promise.reject(new Error('broken')))
  assert.deepEqual(replies, ['"p" result {}', '7 result {"n":1}', '8 error {"code":-32603,"message":"Internal error"}'])
})

test('what the upstream takes back is told to who is asked, and gets no answer', async () => {
  const { asked, replies } = open()
  let withdrawn = 0
  let settle: (answer: Answer) => void = () => {}
  const handle = (_method: string, _params: string, asking: InboundRequest) => {
    asking.onCancel = () => void withdrawn++
    return new Promise<Answer>((resolve) => (settle = resolve))
  }
  const taken = asked.handle('"a"', 'elicitation/create', '{}', handle)
  asked.cancel('{"requestId":"b"}')
  asked.cancel('{}')
  assert.equal(withdrawn, 0)
  asked.cancel('{"reason":"late","requestId":"a"}')
  asked.cancel('{"requestId":"a"}')
  assert.equal(withdrawn, 1)
  settle(result)
  await taken
  assert.deepEqual(replies, [])
})

test('no more wait than may, and nothing is answered once it is over', async () => {
  const { asked, replies } = open(1)
  let settle: (answer: Answer) => void = () => {}
  const waiting = asked.handle('1', 'roots/list', '{}', () => new Promise((resolve) => (settle = resolve)))
  await asked.handle('2', 'roots/list', '{}', async () => result)
  assert.deepEqual(replies.splice(0), ['2 error {"code":-32603,"message":"Too many concurrent requests"}'])
  asked.clear()
  settle(result)
  await waiting
  assert.deepEqual(replies, [])
})

test('requests with one id count as many, also when they are withdrawn', () => {
  const { asked, replies } = open(3)
  let handlers = 0
  const never = () => {
    handlers++
    return new Promise<Answer>(() => {})
  }
  for (let i = 0; i < 10; i++) void asked.handle('1', 'elicitation/create', '{}', never)
  asked.cancel('{"requestId":1}')
  void asked.handle('1', 'elicitation/create', '{}', never)
  assert.equal(handlers, 3)
  assert.equal(replies.length, 8)
})

test('SR-H2 a handler that fails at once gives its place back', async () => {
  const { asked, replies } = open(2)
  const handle = () => {
    throw new Error('broken')
  }
  for (let i = 0; i < 5; i++) await asked.handle(String(i), 'roots/list', '{}', handle)
  assert.deepEqual(
    replies.map((reply) => reply.slice(2)),
    Array(5).fill('error {"code":-32603,"message":"Internal error"}'),
    'each is answered, none is refused'
  )
})

test('SR-H2 a server that asks a thousand times at once gets its answers over many turns, and only so many', async () => {
  let time = 0
  const { asked, replies } = open(
    10,
    createPacedWork(0.5, () => (time += 0.1))
  )
  for (let id = 0; id < 1_000; id++) void asked.handle(`${id}`, 'ping', '{}', () => assert.fail('asked somebody'))
  assert.ok(replies.length < 10, `${replies.length} answers in one turn`)
  let turns = 0
  for (let answers = -1; answers < replies.length; turns++) {
    answers = replies.length
    await nextTurn()
    assert.ok(replies.length - answers < 10, `${replies.length - answers} answers in one turn`)
  }
  assert.ok(turns > 3, `${turns} turns`)
  assert.ok(replies.length >= 32 && replies.length < 60, `${replies.length} answers`)
})

test('SR-H2 what a waiting answer holds is counted', async () => {
  let held = 0
  const memory = {
    reserve(bytes: number) {
      if (held + bytes > 5_000) return false
      held += bytes
      return true
    },
    release: (bytes: number) => void (held -= bytes)
  }
  const works: (() => void)[] = []
  let replies = 0
  const asked = new InboundRequests(10, () => void replies++, memory, {
    handled: () => assert.fail('nobody was asked'),
    fixed: (work) => works.push(work)
  })
  const id = `"${'i'.repeat(2_000)}"`
  for (let at = 0; at < 5; at++) void asked.handle(id, 'ping', '{}', () => assert.fail('asked somebody'))
  assert.equal(works.length, 2)
  for (const work of works) work()
  assert.deepEqual([replies, held], [2, 0])
})

test('SR-H2 an answer of a handler does not wait behind pongs, and holds its place and memory until it is sent', async () => {
  let held = 0
  const memory = {
    reserve(bytes: number) {
      held += bytes
      return true
    },
    release: (bytes: number) => void (held -= bytes)
  }
  const [handled, fixed]: [(() => void)[], (() => void)[]] = [[], []]
  const replies: string[] = []
  const asked = new InboundRequests(1, (id) => replies.push(id), memory, {
    handled: (work) => handled.push(work),
    fixed: (work) => fixed.push(work)
  })
  void asked.handle('1', 'ping', '{}', () => assert.fail('asked somebody'))
  const before = held
  await asked.handle('2', 'roots/list', '{}', async () => result)
  assert.ok(held > before)
  await asked.handle('3', 'roots/list', '{}', () => assert.fail('more run than may'))
  assert.deepEqual([replies, handled.length, fixed.length], [[], 1, 2])
  for (const work of handled) work()
  assert.deepEqual(replies, ['2'])
  for (const work of fixed) work()
  assert.deepEqual([replies, held], [['2', '1', '3'], 0])
})
