import assert from 'node:assert/strict'
import test from 'node:test'
import { Type } from '@sinclair/typebox'
import Fastify, { type FastifyInstance } from 'fastify'
import type { TestContext } from 'node:test'
import { StringEnum, Text, TextMap } from '../../src/schemas/shared.ts'
import { compileValidatorsLazily } from '../../src/validation/compilers.ts'
import { buildValidator, formatFindings, refuseRepeatedQuery } from '../../src/validation/validators.ts'
import { cpuMs } from '../cpu.ts'

const body = Type.Object(
  {
    name: Type.String({ format: 'server-name' }),
    kind: Type.Optional(StringEnum(['a', 'b'])),
    count: Type.Optional(Type.Integer()),
    text: Type.Optional(Text({ maxLength: 5 })),
    map: Type.Optional(TextMap())
  },
  { additionalProperties: false }
)
const querystring = Type.Object({ flag: Type.Optional(Type.Boolean()), name: Type.Optional(Text({ minLength: 1 })) })

function start(t: TestContext): FastifyInstance {
  const app = Fastify({
    schemaController: { compilersFactory: { buildValidator: compileValidatorsLazily(buildValidator) } },
    schemaErrorFormatter: formatFindings
  })
  t.after(() => app.close())
  app.post('/', { schema: { body, querystring } }, ({ body: given, query }) => ({ given, query }))
  return app
}

const cases: readonly [body: unknown, message: string][] = [
  [{}, '"name" is required'],
  [{ name: 5 }, '"name" must be a string'],
  [{ name: 'a', count: '5' }, '"count" must be an integer'],
  [{ name: 'a', extra: 1 }, 'unknown member "extra"'],
  [{ name: 'a', kind: 'SENT' }, '"kind" must be one of a, b'],
  [{ name: 'a', text: 'SENT-and-more' }, '"text" must not be longer than 5 characters'],
  [{ name: 'a', text: 'a\0' }, '"text" must not contain NUL characters or lone surrogates'],
  [{ name: 'a', map: { 'x/y': 5 } }, '"map.x/y" must be a string'],
  [[], 'the body must be an object']
]
for (const [payload, message] of cases) {
  test(`${JSON.stringify(payload)} is refused: ${message}`, async (t) => {
    const app = start(t)
    const answer = await app.inject({ method: 'POST', url: '/', payload: payload as object })
    assert.deepEqual([answer.statusCode, answer.json<{ message: string }>().message], [400, message])
  })
}

test('AZ-12 a name that breaks the rule is told the rule', async (t) => {
  const answer = await start(t).inject({ method: 'POST', url: '/', payload: { name: 'a__b' } })
  assert.match(answer.json<{ message: string }>().message, /^"name" must be 1 to 64 letters/)
})

test('query parameters are read as what they are, bodies are not coerced', async (t) => {
  const app = start(t)
  const answer = await app.inject({ method: 'POST', url: '/?flag=true', payload: { name: 'a', count: 1 } })
  assert.deepEqual(answer.json(), { given: { name: 'a', count: 1 }, query: { flag: true } })
})

for (const query of ['flag=maybe', 'flag=', 'flag=1', 'flag=TRUE', 'flag=true&flag=false', 'name=']) {
  test(`IN-04 ?${query} is a 400`, async (t) => {
    const answer = await start(t).inject({ method: 'POST', url: `/?${query}`, payload: { name: 'a' } })
    assert.equal(answer.statusCode, 400, answer.body)
  })
}

test('IN-16 a repeated query parameter is named', () => {
  assert.throws(() => refuseRepeatedQuery({ a: 'x', server: ['alpha', 'beta'] }), {
    message: 'query parameter "server" is given more than once'
  })
  refuseRepeatedQuery({ a: 'x' })
})

test('LI-11 very long strings are refused at once', async (t) => {
  const app = start(t)
  // the first request compiles the schema
  await app.inject({ method: 'POST', url: '/', payload: { name: '!' } })
  for (const name of [`${'a'.repeat(100_000)}!`, '_'.repeat(100_000)]) {
    const cost = await cpuMs(async () => {
      const answer = await app.inject({ method: 'POST', url: '/', payload: { name } })
      assert.equal(answer.statusCode, 400)
    })
    assert.ok(cost < 1_000, `${cost} ms`)
  }
})
