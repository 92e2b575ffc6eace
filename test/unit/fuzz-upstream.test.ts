import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../fuzz/random.ts'
import { damageFrame, damageHttp, damageJson, damageLine } from '../fuzz/upstream/damage.ts'
import { answerTo, documents, kinds, notifications, pushes } from '../fuzz/upstream/messages.ts'
import { problemOfReply } from '../fuzz/upstream/oracle.ts'
import { makePlan, simpler, type Plan } from '../fuzz/upstream/plan.ts'

const plans = Array.from({ length: 500 }, (_, number) => makePlan(7, number))
const json = JSON.stringify(answerTo('bad', { id: 1, method: 'tools/list' }))

test('a plan is the same at each run with its seed, and plans of other numbers and seeds differ', () => {
  assert.deepEqual(
    plans,
    plans.map((_, number) => makePlan(7, number))
  )
  assert.ok(new Set(plans.map((plan) => JSON.stringify(plan))).size > 490)
  assert.notDeepEqual(plans[0], makePlan(8, 0))
})

test('plans of some hundred cases damage every kind of message, in its JSON and in its framing', () => {
  const damaged = (how: string) =>
    new Set(plans.flatMap(({ damages }) => damages.flatMap((each) => (each.how === how ? [each.on] : []))))
  const names = [...kinds, '/.well-known/oauth-protected-resource', '/.well-known/oauth-authorization-server', '/token']
  assert.deepEqual(
    names.filter((name) => !damaged('json').has(name)),
    []
  )
  for (const name of ['tools/call', 'tools/call stream', 'challenge', 'GET', 'endpoint']) {
    assert.ok(damaged('framing').has(name), name)
  }
  assert.equal(new Set(plans.map(({ transport }) => transport)).size, 4)
})

test('damage depends on its seed alone, and changes most of what it is given', () => {
  const texts: Record<string, (seed: number) => string> = {
    json: (seed) => damageJson(createRandom(seed), json),
    http: (seed) =>
      damageHttp(createRandom(seed), `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}`, 'http://127.0.0.1:1'),
    frame: (seed) => damageFrame(createRandom(seed), `event: message\ndata: ${json}\n\n`),
    line: (seed) => damageLine(createRandom(seed), `${json}\n`)
  }
  for (const [name, damage] of Object.entries(texts)) {
    const results = new Set<string>()
    for (let seed = 0; seed < 300; seed++) {
      assert.equal(damage(seed), damage(seed), `${name} ${seed}`)
      results.add(damage(seed))
    }
    assert.ok(results.size > 30, `${name}: ${results.size}`)
  }
})

test('damaged JSON is mostly none, sometimes not UTF-8, and sometimes valid with another meaning', () => {
  const counts = { broken: 0, bytes: 0, valid: 0 }
  for (let seed = 0; seed < 1_000; seed++) {
    const bytes = Buffer.from(damageJson(createRandom(seed), json), 'latin1')
    try {
      JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
      counts.valid++
    } catch (error) {
      counts[error instanceof TypeError ? 'bytes' : 'broken']++
    }
  }
  for (const [kind, count] of Object.entries(counts)) assert.ok(count > 20, `${kind}: ${count}`)
})

test('messages are valid before they are damaged', () => {
  const messages = [...pushes(), ...notifications('bad', 1)].map(({ message }) => message)
  for (const message of messages) assert.equal((message as { jsonrpc?: string }).jsonrpc, '2.0')
  for (const document of Object.values(documents('http://127.0.0.1:1/bad'))) {
    assert.deepEqual(JSON.parse(JSON.stringify(document)), document)
  }
  assert.ok('error' in answerTo('bad', { id: 1, method: 'tools/call', params: { name: 'fail' } }))
  assert.ok('result' in answerTo('bad', { id: 1, method: 'tools/call', params: { name: 'plain' } }))
})

test('each simpler plan has less in it, down to one damage and no action', () => {
  const sizeOf = ({ damages, actions }: Plan) => damages.length + actions.length
  for (const plan of plans) {
    for (const candidate of simpler(plan)) assert.equal(sizeOf(candidate), sizeOf(plan) - 1)
  }
  let plan = plans.find(({ damages, actions }) => damages.length > 2 && actions.length > 2)!
  while (simpler(plan).length > 0) plan = simpler(plan)[0]!
  assert.deepEqual([plan.damages.length, plan.actions.length], [1, 0])
})

test('answers of the gateway are judged by their bytes, whatever their status', () => {
  const problem = (status: number, body: string | Buffer, type = 'application/json') =>
    problemOfReply('x', { status, type, bytes: Buffer.from(body) })
  const rpcError = (message: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32603, message } })
  for (const [status, body] of [
    [200, '[]'],
    [204, ''],
    [200, rpcError('server "bad": it did not work')],
    [502, '{"error":"server \\"bad\\": answered with malformed JSON"}']
  ] as const) {
    assert.equal(problem(status, body), undefined, body)
  }
  assert.equal(problem(200, `event: message\ndata: {"a":1}\n\n: beat\n\n`, 'text/event-stream'), undefined)
  assert.match(problem(200, '{"a":"\\q"}')!, /no JSON/)
  assert.match(problem(200, '{"a":"\n"}')!, /no JSON/)
  assert.match(problem(200, Buffer.from('{"a":"\xff"}', 'latin1'))!, /not UTF-8/)
  assert.match(problem(200, 'data: {"a":\n\n', 'text/event-stream')!, /no JSON/)
  assert.match(problem(200, 'data: {"a":"\r"}\n\n', 'text/event-stream')!, /carriage return/)
  assert.match(problem(200, rpcError('Internal error'))!, /internal error/)
  assert.match(problem(200, `[${rpcError('Internal error')}]`)!, /internal error/)
  assert.match(problem(500, '{"error":"internal server error"}')!, /internal error/)
  assert.match(problem(500, '{"error":"x"}')!, /status 500/)
  assert.match(problem(502, '{"error":"at f (/app/src/a.ts:1:2)"}')!, /too much/)
})
