import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { runInputRounds, InputRefusedError } from '../../src/mcp/input/input-rounds.ts'
import type { CallSink } from '../../src/mcp/input/call-sink.ts'
import {
  type Answer,
  Call,
  type OutgoingRequest,
  silentSink,
  type UpstreamAnswer
} from '../../src/upstream/transport/call.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'

const request: OutgoingRequest = {
  method: 'tools/call',
  members: '"name":"t","arguments":{"n":1.0}',
  meta: '"x":1',
  name: 't'
}
const everything = '{"elicitation":{},"sampling":{},"roots":{}}'
const elicit = '{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{}}}'

const modern = (text: string): UpstreamAnswer => ({ answer: { kind: 'result', body: Payload.of(text) }, era: 'modern' })
const wants = (requests: string, state = '') =>
  modern(`{"resultType":"input_required","inputRequests":{${requests}}${state}}`)
const done = modern('{"resultType":"complete","content":[]}')
const result = (text: string): Answer => ({ kind: 'result', body: Payload.of(text) })

interface RunOptions {
  /** Responses of the upstream, call by call; the last one repeats. */
  readonly says: readonly UpstreamAnswer[]
  readonly capabilities?: string
  readonly answer?: (method: string, params: string) => Promise<Answer> | Answer
}

/** Runs a client that answers requests for input, and an upstream that sends them. */
function run({ says, capabilities = everything, answer = () => result('{"action":"accept"}') }: RunOptions) {
  const asked: string[] = []
  const sent: OutgoingRequest[] = []
  let closed = 0
  const call = new Call(request, silentSink)
  const sink = {
    capabilities,
    call,
    request: async (method: string, params: string) => {
      asked.push(`${method} ${params}`)
      return answer(method, params)
    },
    close: () => void closed++
  }
  const send = async (next: OutgoingRequest) => {
    sent.push(next)
    return says[Math.min(sent.length, says.length - 1)]!
  }
  const rounds = runInputRounds(says[0]!, sink as unknown as CallSink, request, send)
  return { rounds, asked, sent, call, closed: () => closed }
}

const isBad = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof UpstreamFailure)
  assert.equal(error.reason, 'bad_response')
  assert.match(error.message, pattern)
  return true
}

test('a result that asks for nothing is the answer as it is', async () => {
  for (const first of [done, { ...done, era: 'legacy' as const }]) {
    const { rounds, sent } = run({ says: [first] })
    assert.equal(await rounds, first)
    assert.equal(sent.length, 0)
  }
})

test('a legacy result and an error are never taken for a question', async () => {
  const question = wants(`"a":${elicit}`)
  const error: UpstreamAnswer = { era: 'modern', answer: { kind: 'error', body: question.answer.body } }
  for (const first of [{ ...question, era: 'legacy' as const }, error]) {
    const { rounds, asked } = run({ says: [first] })
    assert.equal(await rounds, first)
    assert.deepEqual(asked, [])
  }
})

test('the request is sent again with the answers under their keys and the state byte for byte', async () => {
  const state = '"a\\u0062\\/ü 12345678901234567890"'
  const roots = '{"method":"roots/list"}'
  const answers: Record<string, string> = { 'roots/list': '{"roots": []}', 'elicitation/create': '{"n":1.0}' }
  const { rounds, asked, sent } = run({
    says: [wants(`"who \\"x\\"":${elicit},"r":${roots}`, `,"requestState":${state}`), done],
    answer: (method) => result(answers[method]!)
  })
  assert.equal(await rounds, done)
  assert.deepEqual(asked, ['elicitation/create {"message":"Who?","requestedSchema":{}}', 'roots/list {}'])
  assert.equal(sent.length, 1)
  assert.deepEqual(sent[0], {
    ...request,
    members: `${request.members},"inputResponses":{"who \\"x\\"":{"n":1.0},"r":{"roots": []}},"requestState":${state}`
  })
})

test('each round begins with the request alone: nothing of an earlier round is left', async () => {
  const says = [wants(`"a":${elicit}`, ',"requestState":"1"'), wants(`"b":${elicit}`), done]
  const { rounds, sent } = run({ says })
  await rounds
  assert.deepEqual(
    sent.map(({ members }) => members.slice(request.members.length)),
    [',"inputResponses":{"a":{"action":"accept"}},"requestState":"1"', ',"inputResponses":{"b":{"action":"accept"}}']
  )
})

test('a state alone is a question that nobody need answer', async () => {
  const first = modern('{"resultType":"input_required","requestState":"1"}')
  const { rounds, sent, asked } = run({ says: [first, done] })
  assert.equal(await rounds, done)
  assert.deepEqual(asked, [])
  assert.ok(sent[0]!.members.endsWith(',"inputResponses":{},"requestState":"1"'))
})

test('eight rounds are played, a ninth is not', async () => {
  const question = wants(`"a":${elicit}`)
  const eight = run({ says: [...Array.from({ length: 8 }, () => question), done] })
  assert.equal(await eight.rounds, done)
  assert.equal(eight.asked.length, 8)
  const endless = run({ says: [question] })
  await assert.rejects(endless.rounds, isBad(/too often/))
  assert.equal(endless.asked.length, 8)
})

test('a client that refuses ends the call in its own words', async () => {
  const refused = { kind: 'error', body: Payload.of('{"code":-1,"message":"User rejected"}') } as const
  const { rounds, sent } = run({ says: [wants(`"a":${elicit}`), done], answer: () => refused })
  await assert.rejects(rounds, (error) => {
    assert.ok(error instanceof InputRefusedError)
    assert.deepEqual([error.code, error.message], [-1, 'User rejected'])
    return true
  })
  assert.equal(sent.length, 0)
})

test('an upstream that asks for what the client did not declare has answered badly', async () => {
  const { rounds, asked } = run({ says: [wants(`"a":${elicit}`), done], capabilities: '{"roots":{}}' })
  await assert.rejects(rounds, isBad(/does not support/))
  assert.deepEqual(asked, [])
})

test('a caller who cancels while it is asked has its questions withdrawn, and the call is not sent again', async () => {
  let refuse: (answer: Answer) => void = () => {}
  const answer = () => new Promise<Answer>((resolve) => (refuse = resolve))
  const { rounds, sent, call, closed } = run({ says: [wants(`"a":${elicit}`), done], answer })
  const failed = assert.rejects(rounds, /has gone/)
  call.stop(new UpstreamFailure('cancelled', 'has gone'))
  assert.equal(closed(), 1)
  refuse({ kind: 'error', body: Payload.of('{"code":-32603,"message":"over"}') })
  await failed
  assert.equal(sent.length, 0)
})

test('malformed questions are bad answers', async () => {
  for (const first of [
    wants('"a":{}'),
    wants('"a":{"method":7}'),
    wants('"a":7'),
    modern('{"resultType":"input_required"')
  ]) {
    await assert.rejects(run({ says: [first] }).rounds, isBad(/./))
  }
})
