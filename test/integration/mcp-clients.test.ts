import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { addCleanup } from '../store.ts'
import { addRecorder, legacyBody, startMcp, textOf } from './mcp-helpers.ts'
import { until } from '../until.ts'

const identity = { name: 'test', version: '1' }

async function connectV1(t: TestContext, url: string): Promise<ClientV1> {
  const client = new ClientV1(identity)
  // the SDK's own transport does not satisfy its interface under exactOptionalPropertyTypes
  await client.connect(new TransportV1(new URL(url)) as Transport)
  addCleanup(t, () => client.close())
  return client
}

async function connectV2(t: TestContext, url: string, mode: 'auto' | 'legacy' | { pin: string }): Promise<ClientV2> {
  const client = new ClientV2(identity, { versionNegotiation: { mode } })
  await client.connect(new TransportV2(new URL(url)))
  addCleanup(t, () => client.close())
  return client
}

const text = (result: unknown) => JSON.parse((result as { content: { text: string }[] }).content[0]!.text) as unknown
const expected = [
  'dual__echo',
  'dual__slow',
  'dual__whoami',
  'dual__fail',
  'old__echo',
  'old__slow',
  'old__whoami',
  'old__fail'
]

test('clients of both SDKs list and call upstreams of both eras', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'dual', { modern: true })
  await addRecorder(t, mcp, 'old')
  const clients = {
    v1: await connectV1(t, mcp.url),
    auto: await connectV2(t, mcp.url, 'auto'),
    pinned: await connectV2(t, mcp.url, { pin: '2026-07-28' }),
    legacy: await connectV2(t, mcp.url, 'legacy')
  }
  for (const [kind, client] of Object.entries(clients)) {
    assert.equal(client.getServerVersion()?.name, 'towpath', kind)
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      expected,
      kind
    )
    for (const server of ['dual', 'old']) {
      const result = await client.callTool({ name: `${server}__echo`, arguments: { text: kind } })
      assert.deepEqual(text(result), { server, arguments: { text: kind } }, kind)
    }
    const { resources } = await client.listResources()
    assert.deepEqual(
      resources.map(({ uri }) => uri),
      ['fixture://note', 'towpath://old/fixture://note'],
      kind
    )
    const { contents } = await client.readResource({ uri: 'towpath://old/fixture://note' })
    assert.equal(contents[0]!.uri, 'towpath://old/fixture://note', kind)
    const prompt = await client.getPrompt({ name: 'old__greet', arguments: { who: 'Ann' } })
    assert.equal(prompt.messages.length, 1, kind)
    await assert.rejects(client.callTool({ name: 'old__nothing' }), /Unknown tool: old__nothing/, kind)
  }
})

test('progress reaches the callback of each client, and an abort reaches the upstream', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'old')
  const v1 = await connectV1(t, mcp.url)
  const v2 = await connectV2(t, mcp.url, { pin: '2026-07-28' })
  const aborts = [
    (signal: AbortSignal) => v1.callTool({ name: 'old__slow', arguments: { ms: 60_000 } }, undefined, { signal }),
    (signal: AbortSignal) => v2.callTool({ name: 'old__slow', arguments: { ms: 60_000 } }, { signal })
  ]
  const heard: number[] = []
  const onprogress = ({ progress }: { progress: number }) => void heard.push(progress)
  await v1.callTool({ name: 'old__slow', arguments: { ms: 100 } }, undefined, { onprogress })
  assert.ok(heard.length > 0)
  heard.length = 0
  await v2.callTool({ name: 'old__slow', arguments: { ms: 100 } }, { onprogress })
  assert.ok(heard.length > 0)
  for (const [i, call] of aborts.entries()) {
    const stop = new AbortController()
    const failed = assert.rejects(call(stop.signal))
    await until('the call arrives', () => recorder.calls('tools/call').length === 3 + i)
    stop.abort()
    await failed
    await until('the upstream is told', () => recorder.calls('notifications/cancelled').length === 1 + i)
  }
})

test('fifty clients whose ids all begin at zero each get their own answers', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'free', { legacy: 'sessionless' })
  await addRecorder(t, mcp, 'bound')
  const sessions = await Promise.all(Array.from({ length: 50 }, () => mcp.initialize()))
  const work = sessions.map(async (session, client) => {
    for (let id = 0; id < 20; id++) {
      const name = id % 4 === 0 ? 'bound__echo' : 'free__echo'
      const args = { client, id }
      const answer = await mcp.send(legacyBody('tools/call', { name, arguments: args }, id), session)
      assert.equal(answer.body.id, id)
      assert.deepEqual((textOf(answer) as { arguments: unknown }).arguments, args)
    }
  })
  await Promise.all(work)
})
