import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { register, startApp } from '../app.ts'
import { startRecorder, type Recorder } from '../fixtures/http/recorder.ts'

async function start(t: TestContext): Promise<{ app: FastifyInstance; alpha: Recorder }> {
  const app = await startApp(t)
  const alpha = await startRecorder(t)
  await register(app, { name: 'alpha', transport: 'streamable_http', url: alpha.url })
  return { app, alpha }
}
const render = (app: FastifyInstance, payload: object) =>
  app.inject({ method: 'POST', url: '/api/v0/prompts/render', payload })

const greet = {
  name: 'alpha__greet',
  enabled: true,
  description: 'Greets',
  arguments: [{ name: 'who', required: true }]
}

test('prompts are listed and found by their qualified names', async (t) => {
  const { app } = await start(t)
  assert.deepEqual((await app.inject('/api/v0/prompts')).json(), [greet])
  assert.deepEqual((await app.inject('/api/v0/prompt?name=alpha__greet')).json(), greet)
})

test('a prompt is rendered by its upstream', async (t) => {
  const { app } = await start(t)
  const answer = await render(app, { name: 'alpha__greet', arguments: { who: 'Ada' } })
  assert.deepEqual(
    [answer.statusCode, answer.json()],
    [200, { messages: [{ role: 'user', content: { type: 'text', text: 'Greet Ada' } }] }]
  )
})

test('arguments of prompts are texts', async (t) => {
  const { app, alpha } = await start(t)
  const wrong: [object, string][] = [
    [{ name: 'alpha__greet', arguments: { who: 5 } }, '"arguments.who" must be a string'],
    [{ name: 'alpha__greet', arguments: ['x'] }, '"arguments" must be an object'],
    [{ name: 'alpha__greet', who: 'Ada' }, 'unknown member "who"'],
    [{ arguments: {} }, '"name" is required']
  ]
  for (const [payload, error] of wrong) {
    const answer = await render(app, payload)
    assert.deepEqual([answer.statusCode, answer.json()], [400, { error }])
  }
  assert.equal(alpha.calls('prompts/get').length, 0)
})

test('AZ-14 AZ-15 a disabled prompt, and one of a disabled server, is a 409; an unknown one a 404', async (t) => {
  const { app, alpha } = await start(t)
  const post = (url: string) => app.inject({ method: 'POST', url })
  assert.deepEqual((await post('/api/v0/prompts/disable?entity=alpha')).json(), ['alpha__greet'])
  assert.deepEqual((await app.inject('/api/v0/prompts')).json(), [{ ...greet, enabled: false }])
  assert.equal((await render(app, { name: 'alpha__greet' })).statusCode, 409)
  await post('/api/v0/prompts/enable?entity=alpha__greet')
  await post('/api/v0/servers/alpha/disable')
  assert.equal((await render(app, { name: 'alpha__greet' })).statusCode, 409)
  assert.deepEqual((await app.inject('/api/v0/prompts?server=alpha')).json(), [])
  assert.equal((await render(app, { name: 'alpha__nope' })).statusCode, 404)
  assert.equal(alpha.calls('prompts/get').length, 0)
})
