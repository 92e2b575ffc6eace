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

test('of two servers with one URI each is switched by the name that was answered', async (t) => {
  const app = await start(t)
  const { url } = await startRecorder(t, { name: 'beta' })
  await register(app, { name: 'beta', transport: 'streamable_http', url })
  const alias = (server: string) => `towpath://${server}/${note.uri}`
  const shown = async () =>
    (await app.inject('/api/v0/resources')).json<(typeof note)[]>().map(({ uri, enabled }) => [uri, enabled])
  const turn = async (verb: string, entity: string) =>
    (
      await app.inject({ method: 'POST', url: `/api/v0/resources/${verb}?entity=${encodeURIComponent(entity)}` })
    ).json<unknown>()
  const both = [
    [note.uri, true],
    [alias('beta'), true]
  ]
  assert.deepEqual(await shown(), both)

  assert.deepEqual(await turn('disable', alias('beta')), [alias('beta')])
  assert.deepEqual(await shown(), [
    [note.uri, true],
    [alias('beta'), false]
  ])
  assert.deepEqual(await turn('enable', alias('beta')), [alias('beta')])
  assert.deepEqual(await shown(), both)

  assert.deepEqual(await turn('disable', note.uri), [alias('alpha')])
  assert.deepEqual(await shown(), [
    [alias('alpha'), false],
    [note.uri, true]
  ])
  assert.equal((await read(app, alias('alpha'))).statusCode, 409)
  assert.equal((await read(app, note.uri)).statusCode, 200)
  assert.deepEqual(await turn('disable', note.uri), [alias('beta')])
  assert.deepEqual(await shown(), [
    [alias('alpha'), false],
    [alias('beta'), false]
  ])
  assert.deepEqual(await turn('enable', alias('beta')), [note.uri])
  assert.deepEqual(await turn('enable', alias('alpha')), [note.uri])
  assert.deepEqual(await shown(), both)
})

test('a read that the upstream knows nothing of is a 404, in both eras', async (t) => {
  const app = await start(t)
  const { url } = await startRecorder(t, { modern: true, legacy: 'none' })
  await register(app, { name: 'modern', transport: 'streamable_http', url })
  for (const server of ['alpha', 'modern']) {
    const answer = await read(app, `towpath://${server}/fixture://other`)
    assert.equal(answer.statusCode, 404, answer.body)
    assert.deepEqual(answer.json(), { error: `server "${server}": Resource not found` })
  }
})

test('of an aliased read the contents that were asked for are named as they were asked, and nothing else', async (t) => {
  const app = await start(t)
  const alias = `towpath://alpha/${note.uri}`
  assert.deepEqual((await read(app, alias)).json(), { contents: [{ uri: alias, text: 'a note' }] })
  assert.deepEqual((await read(app, note.uri)).json(), { contents: [{ uri: note.uri, text: 'a note' }] })
})
