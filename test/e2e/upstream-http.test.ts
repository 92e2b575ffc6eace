import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { addCleanup } from '../store.ts'
import { startGateway } from './harness.ts'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { connectV1 } from './peers.ts'
import { registrationOf, echoTool, sendJson, sendResult, startUpstream, textResult, type Message } from './upstream.ts'

const times = async <T>(work: () => Promise<T>) => {
  const start = performance.now()
  const result = await work()
  return { result, took: performance.now() - start }
}

const slowTool = { ...echoTool, name: 'slow' }

test('UP-01 an upstream that accepts connections and says nothing is a timeout, and nothing is registered', async (t) => {
  const mute = createServer(() => {})
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  addCleanup(t, () => mute.close())
  const gateway = await startGateway(t, { env: { TOWPATH_CONNECT_TIMEOUT_MS: '3000' } })
  const url = `http://127.0.0.1:${(mute.address() as AddressInfo).port}/mcp`

  const { result, took } = await times(() => gateway.post('/api/v0/servers', registrationOf('alpha', { url })))
  assert.deepEqual([result.status, typeof result.body.error], [504, 'string'])
  assert.ok(took > 2_500, `${took} ms`)
  assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])
  assert.equal(
    (await gateway.post('/api/v0/servers', registrationOf('alpha', await startUpstream(t, 'alpha')))).status,
    201
  )
})

test('UP-02 a call that hangs ends at its limit, is cancelled upstream and costs nobody else anything', async (t) => {
  const alpha = await startUpstream(t, 'alpha', { tools: [slowTool], onCall: () => {} })
  const beta = await startUpstream(t, 'beta')
  const gateway = await startGateway(t, { env: { TOWPATH_CALL_TIMEOUT_MS: '5000' } })
  await gateway.register(registrationOf('alpha', alpha))
  await gateway.register(registrationOf('beta', beta))
  const client = await connectV1(t, gateway.url)

  let over = 0
  const overRest = times(() => gateway.post('/api/v0/tools/invoke', { name: 'alpha__slow' })).finally(() => over++)
  const failing = () => client.callTool({ name: 'alpha__slow' }).catch((error: Error) => error)
  const overMcp = times(failing).finally(() => over++)
  for (let call = 0; call < 20; call++) {
    const { status } = await gateway.post('/api/v0/tools/invoke', { name: 'beta__echo', call })
    assert.equal(status, 200)
    if (call === 0) assert.equal(over, 0, 'they are not waited for')
  }
  for (const { took } of [await overRest, await overMcp]) assert.ok(took > 4_500, `${took} ms`)
  const { result } = await overRest
  assert.deepEqual([result.status, typeof result.body.error], [504, 'string'])
  assert.ok((await overMcp).result instanceof Error)

  const calls = alpha.requests.filter(({ message }) => message.method === 'tools/call')
  assert.equal(calls.length, 2)
  await until('the connections of the calls to close', () => calls.every(({ abandoned }) => abandoned))
  const cancelled = () =>
    alpha.requests
      .filter(({ message }) => message.method === 'notifications/cancelled')
      .map(({ message }) => message.params?.requestId)
  await until('both calls to be cancelled upstream', () => cancelled().length === 2)
  assert.deepEqual(new Set(cancelled()), new Set(calls.map(({ message }) => message.id)))
})

const raw = (response: ServerResponse, body: string | Buffer, type = 'application/json') =>
  response.writeHead(200, { 'content-type': type }).end(body)

const faults: Record<string, (message: Message, response: ServerResponse) => unknown> = {
  'truncated JSON': ({ id }, response) => raw(response, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"cont`),
  'an HTML page': (_, response) => raw(response, '<!doctype html><title>Sign in</title>', 'text/html'),
  'the id of another request': ({ id }, response) =>
    sendJson(response, { jsonrpc: '2.0', id: `${id}-not`, result: textResult('not yours') }),
  'two results': ({ id }, response) => {
    const result = JSON.stringify({ jsonrpc: '2.0', id, result: textResult('twice') })
    raw(response, `${result}${result}`)
  },
  'a result without content': (message, response) => sendResult(response, message, { nothing: true }),
  'a message without jsonrpc': ({ id }, response) => sendJson(response, { id, result: textResult('which protocol?') }),
  'invalid UTF-8': ({ id }, response) => {
    const [head, tail] = JSON.stringify({ jsonrpc: '2.0', id, result: textResult('*') }).split('*')
    raw(response, Buffer.concat([Buffer.from(head!), Buffer.from([0xc3, 0x28]), Buffer.from(tail!)]))
  }
}

test('UP-04 a faulty answer is an error of that call alone', async (t) => {
  let fault: string | undefined
  const alpha = await startUpstream(t, 'alpha', {
    onCall: (message, response) =>
      fault === undefined ? sendResult(response, message, textResult('fine')) : faults[fault]!(message, response)
  })
  const gateway = await startGateway(t, { env: { TOWPATH_CALL_TIMEOUT_MS: '5000' } })
  await gateway.register(registrationOf('alpha', alpha))
  const call = () => gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' })
  for (const name of Object.keys(faults)) {
    fault = name
    const result = await call()
    const isError = [502, 504].includes(result.status) ? typeof result.body.error === 'string' : result.body.isError
    assert.ok(isError === true, `${name}: ${result.status} ${result.text}`)
    fault = undefined
    assert.deepEqual((await call()).body, textResult('fine'), `after ${name}`)
  }
})

test("UP-05 an upstream's error page is not passed on", async (t) => {
  const sentinel = 'sentinel-5c1f0b'
  const alpha = await startUpstream(t, 'alpha', {
    onCall: (_, response) =>
      response.writeHead(502, { 'content-type': 'text/html' }).end(`<p>${sentinel}</p>`.repeat(1_000_000 / 22))
  })
  const gateway = await startGateway(t)
  await gateway.register(registrationOf('alpha', alpha))
  const answer = await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' })
  assert.deepEqual([answer.status, typeof answer.body.error], [502, 'string'])
  assert.ok(answer.text.length < 4096 && !answer.text.includes(sentinel), answer.text.slice(0, 200))
  assert.equal(gateway.output().includes(sentinel), false)
})

test('UP-06 an event stream that ends without a result is an error at once', async (t) => {
  const alpha = await startUpstream(t, 'alpha', {
    onCall: (_, response) =>
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(
          'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n'
        )
  })
  const gateway = await startGateway(t)
  await gateway.register(registrationOf('alpha', alpha))
  const result = await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' })
  assert.deepEqual([result.status, typeof result.body.error], [502, 'string'])
})

const residentMiB = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** Sends 200 MB of a text result, as fast as the client reads. */
function endless({ id }: Message, response: ServerResponse): void {
  const block = 'x'.repeat(1_000_000)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`)
  let sent = 0
  const more = () => {
    while (sent++ < 200) if (!response.write(block)) return void response.once('drain', more)
    response.end('"}]}}')
  }
  more()
}

test('UP-07 an answer without end is cut at the limit and takes little memory', async (t) => {
  let isEndless = true
  const alpha = await startUpstream(t, 'alpha', {
    onCall: (message, response) =>
      isEndless ? endless(message, response) : sendResult(response, message, textResult('fine'))
  })
  const gateway = await startGateway(t)
  await gateway.register(registrationOf('alpha', alpha))
  const before = residentMiB(gateway.pid)
  let peak = before
  const sampler = setInterval(() => {
    peak = Math.max(peak, residentMiB(gateway.pid))
  }, 10)
  const answer = await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' })
  clearInterval(sampler)
  assert.deepEqual([answer.status, typeof answer.body.error], [502, 'string'])
  assert.ok(peak - before < 100, `grew by ${peak - before} MiB`)
  isEndless = false
  assert.deepEqual((await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' })).body, textResult('fine'))
})

test('UP-13 lists come whole and at once although one server is dead and one hangs', async (t) => {
  let hangs = false
  const names = ['alpha', 'beta', 'gamma', 'dead', 'hanging']
  // a caller of the hanging upstream waits for longer than a test may take
  const forever = { TOWPATH_CONNECT_TIMEOUT_MS: '3600000', TOWPATH_CALL_TIMEOUT_MS: '3600000' }
  const gateway = await startGateway(t, { env: { ...forever, TOWPATH_CALL_TOTAL_TIMEOUT_MS: '3600000' } })
  for (const name of names) {
    const upstream = await startUpstream(t, name, { onRequest: () => name === 'hanging' && hangs })
    await gateway.register(registrationOf(name, upstream))
    if (name === 'dead') await upstream.close()
  }
  hangs = true
  const pending = gateway.post('/api/v0/tools/invoke', { name: 'hanging__echo' }).catch(() => undefined)
  const expected = names.map((name) => `${name}__echo`).toSorted()

  const client = await connectV1(t, gateway.url)
  const listed = await client.listTools()
  assert.deepEqual(
    listed.tools.map((tool) => tool.name),
    expected
  )
  const rest = await gateway.get('/api/v0/tools')
  assert.deepEqual(
    rest.body.map((tool: { name: string }) => tool.name),
    expected
  )
  assert.equal((await gateway.get('/health')).status, 200)
  assert.equal((await gateway.post('/api/v0/tools/invoke', { name: 'dead__echo' })).status, 502)
  await gateway.stop('SIGKILL')
  await pending
})

test('an upstream that refuses connections is unreachable, and nothing is registered', async (t) => {
  const gateway = await startGateway(t)
  const url = `http://127.0.0.1:${await freePort()}/mcp`
  const answer = await gateway.post('/api/v0/servers', registrationOf('alpha', { url }))
  assert.deepEqual([answer.status, typeof answer.body.error], [502, 'string'])
  assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])
})
