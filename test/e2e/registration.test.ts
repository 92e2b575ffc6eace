import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { firstOf } from '../matrix.ts'
import { engines, freshPlace } from '../store.ts'
import { restart, startGateway, type Gateway } from './harness.ts'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { registrationOf, echoTool, sendResult, startUpstream, textResult } from './upstream.ts'

const twoHundred = Array.from({ length: 200 }, (_, index) => ({
  name: `tool_${index}`,
  description: 'One of many. '.repeat(20),
  inputSchema: { type: 'object', properties: { index: { const: index } } }
}))

/** Returns the numbers of servers and of tools, which must always be consistent. */
async function counts(gateway: Gateway): Promise<[number, number]> {
  const [servers, tools] = await Promise.all([gateway.get('/api/v0/servers'), gateway.get('/api/v0/tools')])
  return [servers.body.length, tools.body.length]
}

for (const engine of firstOf(engines)) {
  test(`a registration that is killed at any moment leaves everything or nothing (${engine})`, async (t) => {
    const upstream = await startUpstream(t, 'many', { tools: twoHundred })
    let gateway = await startGateway(t, { place: await freshPlace(t, engine) })
    const start = performance.now()
    await gateway.register(registrationOf('many', upstream))
    const usual = performance.now() - start
    assert.deepEqual(await counts(gateway), [1, 200])

    // the embedded store takes seconds to recover
    const rounds = engine === 'pglite' ? 3 : 8
    for (let round = 0; round < rounds; round++) {
      assert.equal((await gateway.remove('/api/v0/servers/many')).status, 204)
      const answer = gateway.post('/api/v0/servers', registrationOf('many', upstream)).catch(() => undefined)
      await delay((usual * (round + 0.5)) / rounds)
      await gateway.stop('SIGKILL')
      const acknowledged = (await answer)?.status === 201
      gateway = await restart(t, gateway)
      const [servers, tools] = await counts(gateway)
      assert.ok(tools === servers * 200 && servers <= 1, `${servers} servers with ${tools} tools`)
      if (acknowledged) assert.equal(servers, 1, 'what was acknowledged is there')
      if (servers === 0) await gateway.register(registrationOf('many', upstream))
    }
  })

  test(`of twenty parallel registrations of one name exactly one succeeds (${engine})`, async (t) => {
    const upstream = await startUpstream(t, 'alpha')
    const gateway = await startGateway(t, { place: await freshPlace(t, engine) })
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => gateway.post('/api/v0/servers', registrationOf('alpha', upstream)))
    )
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, ...Array.from({ length: 19 }, () => 409)]
    )
    const refused = answers.find(({ status }) => status === 409)
    assert.deepEqual(refused?.body, { error: 'server "alpha" already exists' })
    assert.deepEqual(await counts(gateway), [1, 1])
  })
}

test('LC-11 a forced replacement lets the call under way end, and later calls reach only the new upstream', async (t) => {
  const slow = { ...echoTool, name: 'slow' }
  const before = await startUpstream(t, 'before', {
    tools: [slow],
    onCall: (message, response) => setTimeout(() => sendResult(response, message, textResult('old')), 2_000)
  })
  const after = await startUpstream(t, 'after', { tools: [slow] })
  const gateway = await startGateway(t)
  await gateway.register(registrationOf('alpha', before))

  const underWay = gateway.post('/api/v0/tools/invoke', { name: 'alpha__slow' })
  await until('the call upstream', () => before.calls() === 1)
  const replaced = await gateway.post('/api/v0/servers?force=true', registrationOf('alpha', after))
  assert.deepEqual([replaced.status, replaced.body.url], [201, after.url])
  for (let call = 1; call <= 5; call++) {
    const answer = await gateway.post('/api/v0/tools/invoke', { name: 'alpha__slow', call })
    assert.match(answer.text, /after/)
  }
  assert.deepEqual([before.calls(), after.calls()], [1, 5])
  const old = await underWay
  if (old.status === 200) assert.match(old.text, /old/)
  else assert.deepEqual([old.status, typeof old.body.error], [502, 'string'])
})

test('LC-12 a forced replacement by a dead or silent upstream fails and leaves the server as it was', async (t) => {
  const alpha = await startUpstream(t, 'alpha')
  const silent = await startUpstream(t, 'silent', { onRequest: () => true })
  const gateway = await startGateway(t, { env: { TOWPATH_CONNECT_TIMEOUT_MS: '3000' } })
  await gateway.register(registrationOf('alpha', alpha))
  const configuration = await gateway.get('/api/v0/server_configs')
  const tools = await gateway.get('/api/v0/tools')

  const dead = { url: `http://127.0.0.1:${await freePort()}/mcp` }
  const refused = await gateway.post('/api/v0/servers?force=true', registrationOf('alpha', dead))
  assert.deepEqual([refused.status, typeof refused.body.error], [502, 'string'])
  const late = await gateway.post('/api/v0/servers?force=true', registrationOf('alpha', silent))
  assert.deepEqual([late.status, typeof late.body.error], [504, 'string'])

  assert.deepEqual((await gateway.get('/api/v0/server_configs')).body, configuration.body)
  assert.deepEqual((await gateway.get('/api/v0/tools')).body, tools.body)
  const answer = await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo', word: 'still' })
  assert.deepEqual([answer.status, answer.text.includes('still')], [200, true])
})

test('LC-18 fifty switches of one server from ten callers leave every view with the last state', async (t) => {
  const alpha = await startUpstream(t, 'alpha')
  const gateway = await startGateway(t)
  await gateway.register(registrationOf('alpha', alpha))
  const caller = async (first: number) => {
    for (let step = 0; step < 5; step++) {
      const action = (first + step) % 2 === 0 ? 'disable' : 'enable'
      const answer = await gateway.post(`/api/v0/servers/alpha/${action}`)
      assert.equal(answer.status, 200, answer.text)
    }
  }
  await Promise.all(Array.from({ length: 10 }, (_, index) => caller(index)))

  for (const action of ['enable', 'disable'] as const) {
    const enabled = action === 'enable'
    const server = (await gateway.get('/api/v0/servers')).body[0]
    const tools = (await gateway.get('/api/v0/tools')).body
    assert.equal(tools.length, server.enabled ? 1 : 0)
    assert.equal((await gateway.get('/api/v0/tool?name=alpha__echo')).body.enabled, server.enabled)
    const call = await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' })
    assert.equal(call.status, server.enabled ? 200 : 409)
    await gateway.post(`/api/v0/servers/alpha/${action}`)
    assert.equal((await gateway.get('/api/v0/servers/alpha')).body.enabled, enabled)
  }
})
