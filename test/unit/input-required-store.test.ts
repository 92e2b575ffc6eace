import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import type { RequestContext } from '../../src/mcp/sessions/request-context.ts'
import { ProtocolError, readMessage } from '../../src/protocol/jsonrpc.ts'
import {
  createInputRequiredStore,
  failQuestions,
  inputRequestsText,
  readInputResponses,
  type PendingQuestion
} from '../../src/mcp/input/input-required-store.ts'
import { PendingQuestions } from '../../src/mcp/input/pending-questions.ts'
import type { Answer, InboundRequest } from '../../src/upstream/transport/call.ts'
import { callerNamed } from './stored.ts'
import { until } from '../until.ts'
import { developmentCaller } from '../../src/catalog/caller.ts'

const limits = { depth: 64, elements: Infinity }
const request = { name: 'a__t', arguments: { n: 1 } }

interface Ask {
  readonly principal?: string
  readonly endpoint?: string
  readonly method?: string
  readonly params?: object
}

/** Returns the parts of an exchange that parking reads. */
function exchangeOf({ principal = 'ann', endpoint = '/mcp', method = 'tools/call', params = request }: Ask = {}) {
  const message = readMessage(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }), limits)
  return { caller: callerNamed(principal), endpoint, message } as RequestContext
}

function open(t: TestContext, key = randomBytes(32)) {
  const parks = createInputRequiredStore<{ abandon(): void }>(key)
  t.after(() => parks.end(() => true))
  const given: string[] = []
  let abandoned = 0
  const question = (method: string): PendingQuestion => ({
    method,
    params: '{}',
    answer: ({ body }) => void given.push(body.toString())
  })
  const pendingCall = { abandon: () => void abandoned++ }
  const park = (exchange = exchangeOf(), questions = [question('elicitation/create')], server = 'alpha') =>
    parks.add(exchange, { pendingCall, server, round: 0, questions })
  return { parks, park, question, given, abandoned: () => abandoned }
}

const invalid = (error: unknown) => {
  assert.ok(error instanceof ProtocolError)
  const { code, status, id, data, message } = error
  assert.deepEqual([code, status, id, data], [-32602, 200, '7', { reason: 'invalid_request_state' }])
  assert.equal(message, 'Invalid params: the request state is not valid')
  return true
}

test('a state is good once, for the same request of the same principal at the same endpoint', (t) => {
  const { parks, park } = open(t)
  const state = park()!
  assert.ok(parks.isOwnState(state))
  const others: Ask[] = [
    { principal: 'bob' },
    { endpoint: '/v0/groups/g/mcp' },
    { method: 'prompts/get' },
    { params: { ...request, name: 'a__u' } },
    { params: { ...request, arguments: { n: 2 } } },
    { params: { name: 'a__t' } }
  ]
  for (const other of others) assert.throws(() => parks.take(exchangeOf(other), state), invalid, JSON.stringify(other))
  const again = exchangeOf({ params: { requestState: state, inputResponses: {}, _meta: {}, ...request } })
  assert.equal(parks.take(again, state).round, 0)
  assert.throws(() => parks.take(again, state), invalid)
})

test('a state that was changed anywhere, or signed with another key, is refused in the same words', (t) => {
  const { parks, park } = open(t)
  const state = park()!
  for (let i = 0; i < state.length; i++) {
    const forged = state.slice(0, i) + (state[i] === 'A' ? 'B' : 'A') + state.slice(i + 1)
    if (parks.isOwnState(forged)) assert.throws(() => parks.take(exchangeOf(), forged), invalid, forged)
  }
  const parts = state.split('.')
  for (const forged of [`${state}.x`, `${state}x`, parts.slice(0, 3).join('.'), `${parts[0]}.${parts[1]}...`]) {
    assert.throws(() => parks.take(exchangeOf(), forged), invalid, forged)
  }
  parks.take(exchangeOf(), state)
})

test('the state of another gateway is its own affair and passes, as does what is no state of a gateway', (t) => {
  const theirs = open(t).park()!
  const { parks } = open(t)
  for (const state of [theirs, 'twp1.', 'opaque', '', 7, null, undefined, {}])
    assert.equal(parks.isOwnState(state), false)
})

test('a replica with the same key knows the state as ours, and refuses what it did not park', (t) => {
  const key = randomBytes(32)
  const state = open(t, key).park()!
  const { parks } = open(t, key)
  assert.ok(parks.isOwnState(state))
  assert.throws(() => parks.take(exchangeOf(), state), invalid)
})

test('sixteen calls wait for a principal, a thousand in all', (t) => {
  const { parks, park } = open(t)
  const states = Array.from({ length: 16 }, () => park()!)
  assert.ok(states.every((state) => state !== undefined))
  assert.equal(park(), undefined)
  parks.take(exchangeOf(), states[0]!)
  assert.ok(park())
  for (let i = 16; i < 1000; i++) assert.ok(park(exchangeOf({ principal: `p${i}` }), undefined, `s${i % 4}`))
  assert.equal(park(exchangeOf({ principal: 'late' })), undefined)
})

test('without authentication the callers have no share each, only one in all', (t) => {
  const { park } = open(t)
  const anybody = { ...exchangeOf(), caller: developmentCaller }
  for (let i = 0; i < 1000; i++) assert.ok(park(anybody, undefined, `s${i % 4}`))
  assert.equal(park(anybody), undefined)
})

test('after ten minutes an elicitation is cancelled, the rest fails and the call is abandoned', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { parks, park, question, given, abandoned } = open(t)
  const state = park(exchangeOf(), [question('elicitation/create'), question('sampling/createMessage')])!
  t.mock.timers.tick(599_999)
  assert.deepEqual(given, [])
  t.mock.timers.tick(1)
  assert.deepEqual(given, [
    '{"action":"cancel"}',
    '{"code":-32603,"message":"the caller did not send the input in time"}'
  ])
  assert.equal(abandoned(), 1)
  assert.throws(() => parks.take(exchangeOf(), state), invalid)
})

test('what is parked for a principal, or at an endpoint, is given up and cannot be taken any more', (t) => {
  const { parks, park, question, given, abandoned } = open(t)
  const mine = park()!
  const elsewhere = exchangeOf({ endpoint: '/v0/groups/g/mcp' })
  const gone = park(elsewhere, [question('elicitation/create'), question('roots/list')])!
  park(exchangeOf({ principal: 'bob' }))

  parks.end((principal) => principal === 'client:bob')
  assert.deepEqual([given.splice(0), abandoned()], [['{"action":"cancel"}'], 1])
  parks.end((_principal, endpoint) => endpoint === '/v0/groups/g/mcp')
  const failed = '{"code":-32603,"message":"the caller can no longer be asked for input"}'
  assert.deepEqual([given, abandoned()], [['{"action":"cancel"}', failed], 2])
  assert.throws(() => parks.take(elsewhere, gone), invalid)
  assert.equal(parks.take(exchangeOf(), mine).questions.length, 1)
})

test('answers are taken by key and byte for byte; one that is missing or no object means to ask again', (t) => {
  const { question } = open(t)
  const questions = [question('elicitation/create'), question('roots/list')]
  assert.equal(
    inputRequestsText(questions),
    '{"input-1":{"method":"elicitation/create","params":{}},"input-2":{"method":"roots/list","params":{}}}'
  )
  const read = (responses: string) => {
    const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a__t"${responses}}}`
    return readInputResponses(readMessage(body, limits), questions)?.map(({ body: given }) => given.toString())
  }
  const first = '{"action":"accept", "content":{"n":12345678901234567890}}'
  assert.deepEqual(read(`,"inputResponses":{"input-2":{},"other":{},"input-1":${first}}`), [first, '{}'])
  for (const wrong of [
    '',
    ',"inputResponses":null',
    ',"inputResponses":[]',
    ',"inputResponses":{}',
    ',"inputResponses":{"input-1":{}}',
    ',"inputResponses":{"input-1":{},"input-2":"x"}',
    ',"inputResponses":{"input-1":{},"input-2":null}',
    ',"inputResponses":{"input-1":[],"input-2":{}}'
  ])
    assert.equal(read(wrong), undefined, wrong)
})

const next = (questions: PendingQuestions) =>
  new Promise<readonly PendingQuestion[]>((resolve) => {
    questions.next(resolve)
  })

test('what is asked within a moment is asked together, also when it comes while the caller is away', async () => {
  const questions = new PendingQuestions()
  const methods = (asked: readonly PendingQuestion[]) => asked.map(({ method }) => method)
  const first = next(questions)
  void questions.ask('a', '{}')
  void questions.ask('b', '{}')
  assert.deepEqual(methods(await first), ['a', 'b'])
  const answered = questions.ask('c', '{}')
  await new Promise((resolve) => setTimeout(resolve, 40))
  const [late] = await next(questions)
  assert.equal(late!.method, 'c')
  late!.answer({ kind: 'result', body: Payload.of('{}') })
  assert.equal((await answered).kind, 'result')
})

test('when the call is over everything that is asked is given up, then and later', async () => {
  const questions = new PendingQuestions()
  const given: Answer[] = []
  const ask = () => void questions.ask('elicitation/create', '{}').then((answer) => given.push(answer))
  ask()
  const asked = await next(questions)
  ask()
  questions.close()
  ask()
  await until('all are given up', () => given.length === 3)
  assert.ok(given.every(({ body }) => body.toString() === '{"action":"cancel"}'))
  failQuestions(asked)
  assert.equal(given.length, 3)
})

test('a question that is taken back is not asked, and one that was asked needs no answer', async () => {
  const questions = new PendingQuestions()
  const asking = (): InboundRequest => ({ onCancel: null })
  const [early, late] = [asking(), asking()]
  const first = questions.ask('a', '{}', early)
  const second = questions.ask('b', '{}', late)
  void questions.ask('c', '{}')
  early.onCancel!()
  const asked = await next(questions)
  assert.deepEqual(
    asked.map(({ method }) => method),
    ['b', 'c']
  )
  assert.equal((await first).kind, 'error')
  late.onCancel!()
  assert.equal((await second).kind, 'error')
  assert.equal(inputRequestsText(asked), '{"input-2":{"method":"c","params":{}}}')
  const read = (responses: string) =>
    readInputResponses(
      readMessage(`{"jsonrpc":"2.0","id":7,"method":"x","params":{"inputResponses":${responses}}}`, limits),
      asked
    )
  assert.equal(read('{"input-2":{"n":1}}')?.[1]!.body.toString(), '{"n":1}')
  assert.equal(read('{}'), undefined)
})

test('questions that are all taken back before they were asked ask nobody', async () => {
  const questions = new PendingQuestions()
  const asking: InboundRequest = { onCancel: null }
  void questions.ask('a', '{}', asking)
  asking.onCancel!()
  let isAsked = false
  void next(questions).then(() => (isAsked = true))
  await new Promise((resolve) => setTimeout(resolve, 60))
  assert.equal(isAsked, false)
})

test('SR-H3 one server has a quarter of the places, and of the bytes of questions, at most', (t) => {
  const { parks, park, question } = open(t)
  const anybody = { ...exchangeOf(), caller: developmentCaller } as RequestContext
  for (let i = 0; i < 250; i++) assert.ok(park(anybody, [question('a')], 'bad'))
  assert.equal(park(anybody, [question('a')], 'bad'), undefined)
  assert.ok(park(anybody, [question('a')], 'good'))
  parks.end(() => true)
  assert.equal(parks.bytes, 0)
  const large = [{ ...question('a'), params: `{"a":"${'x'.repeat(2_000_000)}"}` }]
  let parked = 0
  while (parked < 1_000 && park(anybody, large, 'bad')) parked++
  assert.equal(parked, 4)
  assert.ok(park(anybody, large, 'good'))
  const state = park(anybody, large, 'other')!
  const before = parks.bytes
  parks.take(anybody, state)
  assert.ok(parks.bytes < before - 2_000_000)
})
