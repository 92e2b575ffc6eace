import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engines, freshPlace } from '../store.ts'
import { commandLine } from './cli.ts'
import { startGateway } from './harness.ts'
import { registrationOf, startUpstream } from './upstream.ts'

const property = { type: ['string', 'object'] }
const schema = { type: 'object', properties: { name: property, arguments: property, other: property } }
const tools = [
  { name: 'both', inputSchema: schema },
  { name: 'open', inputSchema: { type: 'object' } }
]
const sets = [
  { name: 'a', arguments: { b: 1 } },
  { name: 'a', arguments: 'text', other: 'c' },
  { name: { arguments: {} } },
  { arguments: { name: 'a' } },
  { arguments: {} },
  {}
]

test('CR-F12: a tool is called over REST and by the command line with parameters called name, arguments and both', async (t) => {
  const gateway = await startGateway(t, { place: await freshPlace(t, engines[0]!) })
  await gateway.register(registrationOf('alpha', await startUpstream(t, 'alpha', { tools })))
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  for (const tool of ['alpha__both', 'alpha__open']) {
    for (const args of sets) {
      const what = `${tool} ${JSON.stringify(args)}`
      const answer = await gateway.post('/api/v0/tools/invoke?arguments=object', { name: tool, arguments: args })
      assert.equal(answer.status, 200, `${what}: ${answer.text}`)
      assert.deepEqual(JSON.parse(answer.body.content[0].text).got, args, what)
      const { out, err } = await cli(['invoke', tool, '--input', JSON.stringify(args)])
      assert.deepEqual(JSON.parse(out).got, args, `${what} by the command line: ${err}`)
    }
  }
  for (const body of [
    { name: 'alpha__both', arguments: {}, other: 1 },
    { name: 'alpha__both', arguments: 'a' },
    { arguments: {} }
  ]) {
    const answer = await gateway.post('/api/v0/tools/invoke?arguments=object', body)
    assert.equal(answer.status, 400, JSON.stringify(body))
  }
  const misspelt = await gateway.post('/api/v0/tools/invoke?arguments=objects', { name: 'alpha__both' })
  assert.equal(misspelt.status, 400, misspelt.text)
})
