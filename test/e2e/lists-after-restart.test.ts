import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listedTransports, startListed, type ListedTransport } from '../fixtures/listed/listed.ts'
import { engines, freshPlace } from '../store.ts'
import { until } from '../until.ts'
import { actorAt, initialize, key, registerAs } from './enterprise.ts'
import { startGateway } from './harness.ts'
import { cellsOf } from '../matrix.ts'

const kinds = listedTransports.flatMap((transport) =>
  (['stateless', 'stateful'] as const).map((session_mode) => ({
    name: `${transport === 'streamable_http' ? 'http' : transport}-${session_mode}`,
    transport,
    session_mode
  }))
)
const tool = (name: string) => JSON.stringify({ name, inputSchema: { type: 'object' } })
const prompt = (name: string) => JSON.stringify({ name })
const resource = (uri: string) => JSON.stringify({ uri, name: uri })
const before = { tools: [tool('old'), tool('ping')], prompts: [prompt('old')], resources: [resource('x://old')] }
const after = { tools: [tool('new'), tool('ping')], prompts: [prompt('new')], resources: [resource('x://new')] }

for (const [engine, mode] of cellsOf(engines, ['development', 'enterprise'] as const)) {
  test(`CR-A5: what upstreams have changed while no gateway ran is listed soon after its start (${mode}, ${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    // what is held is another matter
    const env = mode === 'enterprise' ? { ...key, TOWPATH_DEFINITIONS: 'follow' } : {}
    const first = await startGateway(t, { place, env })
    const token = mode === 'enterprise' ? await initialize(first) : undefined
    const upstreams = []
    for (const { name, transport, session_mode } of kinds) {
      const listed = await startListed(t, transport, before)
      await registerAs(actorAt(t, first.url, token), { name, session_mode, ...listed.registration })
      upstreams.push({ name, transport, listed })
    }
    await first.stop()
    for (const { listed } of upstreams) listed.set(after)

    const second = await startGateway(t, { place, env })
    const actor = actorAt(t, second.url, token)
    const shown = async (path: string, server: string) =>
      JSON.stringify((await actor.get(`/api/v0/${path}?server=${server}`)).body)
    const isListed = async (name: string) =>
      (await shown('tools', name)).includes(`${name}__new`) &&
      (await shown('prompts', name)).includes(`${name}__new`) &&
      (await shown('resources', name)).includes('x://new')
    for (const { name, transport } of upstreams) {
      if (transport === 'stdio') {
        assert.ok(!(await isListed(name)), 'no process is started before it is called for')
        await actor.post('/api/v0/tools/invoke', { name: `${name}__ping` })
      }
      await until(`the lists of ${name}`, () => isListed(name))
    }
  })
}

test('CR-A5: with the interval 0 no lists are read after a start', async (t) => {
  const place = await freshPlace(t, engines[0]!)
  const env = { TOWPATH_REFRESH_INTERVAL_MS: '0' }
  const first = await startGateway(t, { place, env })
  const transports: ListedTransport[] = ['streamable_http', 'sse']
  const [quiet, asked] = await Promise.all(transports.map((transport) => startListed(t, transport, before)))
  await first.register({ name: 'quiet', ...quiet!.registration })
  await first.register({ name: 'asked', ...asked!.registration })
  await first.stop()
  for (const listed of [quiet, asked]) listed!.set(after)
  const second = await startGateway(t, { place, env })
  const names = async () => JSON.stringify((await second.get('/api/v0/tools')).body)
  assert.equal((await second.post('/api/v0/servers/asked/refresh')).status, 200)
  assert.match(await names(), /asked__new/)
  assert.match(await names(), /quiet__old/)
})
