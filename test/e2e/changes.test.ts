import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { firstOf } from '../matrix.ts'
import { engines, freshPlace } from '../store.ts'
import { restart, startGateway, type Gateway } from './harness.ts'
import { until } from '../until.ts'
import { connectV1 } from './peers.ts'
import { registrationOf, echoTool, sendResult, startUpstream, textResult, type Message } from './upstream.ts'

const tool = (name: string, description = 'As it was') => ({ ...echoTool, name, description })

/** Sends a list change on the call's own stream, then answers. */
function announce({ id }: Message, response: ServerResponse): void {
  const send = (message: object) => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  send({ method: 'notifications/tools/list_changed' })
  send({ id, result: textResult('told') })
  response.end()
}

/** Starts an upstream whose list the test changes, and whose tool `tell` announces the change. */
async function startChanging(t: TestContext) {
  const tools: object[] = [tool('echo'), tool('tell')]
  const upstream = await startUpstream(t, 'alpha', {
    tools,
    onCall: (message, response) =>
      message.params?.name === 'tell' ? announce(message, response) : sendResult(response, message, textResult('said'))
  })
  return { tools, upstream }
}

interface Record {
  readonly name: string
  readonly enabled: boolean
  readonly description: string
}

const list = async (gateway: Gateway) => (await gateway.get('/api/v0/tools')).body as Record[]
const names = async (gateway: Gateway) => (await list(gateway)).map(({ name }) => name)

for (const engine of firstOf(engines)) {
  test(`UP-16 a tool that is switched off stays so through changes and a restart (${engine})`, async (t) => {
    const { tools, upstream } = await startChanging(t)
    const gateway = await startGateway(t, { place: await freshPlace(t, engine) })
    await gateway.register(registrationOf('alpha', upstream))
    await gateway.post('/api/v0/tools/disable?entity=alpha__echo')

    tools.splice(0, 1, tool('echo', 'As it is now'), tool('new'))
    await gateway.post('/api/v0/tools/invoke', { name: 'alpha__tell' })
    await until('the new tool to be listed', async () => (await names(gateway)).includes('alpha__new'))
    const assertKept = async (of: Gateway) => {
      assert.deepEqual(
        (await list(of)).map(({ name, enabled, description }) => [name, enabled, description]),
        [
          ['alpha__echo', false, 'As it is now'],
          ['alpha__new', true, 'As it was'],
          ['alpha__tell', true, 'As it was']
        ]
      )
      assert.equal((await of.post('/api/v0/tools/invoke', { name: 'alpha__echo' })).status, 409)
    }
    await assertKept(gateway)
    await gateway.stop()
    await assertKept(await restart(t, gateway))
  })
}

test('LC-14 what an upstream changes is shown, announced or not, and connected clients are told', async (t) => {
  const { tools, upstream } = await startChanging(t)
  const gateway = await startGateway(t, { env: { TOWPATH_REFRESH_INTERVAL_MS: '1000' } })
  await gateway.register(registrationOf('alpha', upstream))
  const client = await connectV1(t, gateway.url)
  let told = 0
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    told++
  })

  tools.push(tool('announced'))
  await client.callTool({ name: 'alpha__tell' })
  await until('the announced tool to be listed', async () => (await names(gateway)).includes('alpha__announced'))
  await until('the client to be told', () => told === 1)

  tools.push(tool('silent'))
  await until('the other tool to be listed', async () => (await names(gateway)).includes('alpha__silent'))
  await until('the client to be told again', () => told === 2)

  tools.splice(0, 1)
  await until('the removed tool to be gone', async () => !(await names(gateway)).includes('alpha__echo'))
  assert.equal((await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' })).status, 404)
  const { tools: seen } = await client.listTools()
  assert.deepEqual(
    seen.map(({ name }) => name),
    ['alpha__tell', 'alpha__announced', 'alpha__silent']
  )
})

test('a refresh on demand tells what it changed', async (t) => {
  const { tools, upstream } = await startChanging(t)
  const gateway = await startGateway(t)
  await gateway.register(registrationOf('alpha', upstream))
  tools.splice(0, 2, tool('echo', 'As it is now'), tool('new'))
  const { status, body } = await gateway.post('/api/v0/servers/alpha/refresh')
  assert.equal(status, 200)
  assert.deepEqual(body, { name: 'alpha', added: ['alpha__new'], removed: ['alpha__tell'], changed: ['alpha__echo'] })
})
