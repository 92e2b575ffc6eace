import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { register, startApp } from '../app.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'

async function start(t: TestContext): Promise<FastifyInstance> {
  const app = await startApp(t)
  const { url } = await startRecorder(t)
  await register(app, { name: 'alpha', transport: 'streamable_http', url })
  return app
}
const read = (app: FastifyInstance, uri: string) =>
  app.inject({ method: 'POST', url: '/api/v0/resources/read', payload: { uri } })

const note = { uri: 'fixture://note', name: 'note', enabled: true, mime_type: 'text/plain' }

test('resources are listed, found and read by their URI', async (t) => {
  const app = await start(t)
  assert.deepEqual((await app.inject('/api/v0/resources')).json(), [note])
  assert.deepEqual((await app.inject('/api/v0/resource?uri=fixture://note')).json(), note)
  assert.deepEqual((await app.inject('/api/v0/resource_templates')).json(), [])
  const answer = await read(app, note.uri)
  assert.deepEqual([answer.statusCode, answer.json()], [200, { contents: [{ uri: note.uri, text: 'a note' }] }])
})

test('a disabled resource is shown as such and cannot be read; an unknown one is a 404', async (t) => {
  const app = await start(t)
  const disabled = await app.inject({ method: 'POST', url: `/api/v0/resources/disable?entity=${note.uri}` })
  assert.deepEqual([disabled.statusCode, disabled.json()], [200, [note.uri]])
  assert.deepEqual((await app.inject('/api/v0/resources')).json(), [{ ...note, enabled: false }])
  assert.equal((await read(app, note.uri)).statusCode, 409)
  const enabled = await app.inject({ method: 'POST', url: '/api/v0/resources/enable?entity=alpha' })
  assert.deepEqual(enabled.json(), [note.uri])
  assert.equal((await read(app, note.uri)).statusCode, 200)
})
