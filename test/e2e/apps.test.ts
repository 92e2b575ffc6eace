import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { addCleanup } from '../store.ts'
import { toolPath } from '../tools/tools.ts'
import { cleanEnv, startGateway } from './harness.ts'
import { connectSse, connectV1, connectV2 } from './peers.ts'

/** Published example servers of MCP Apps; the first two use the same address for their interfaces. */
const names = ['basic-react', 'basic-vanillajs', 'budget-allocator', 'cohort-heatmap', 'scenario-modeler']

const argsOf = (name: string) => [toolPath(`@modelcontextprotocol/server-${name}/dist/index.js`), '--stdio']

type Reader = Pick<Client, 'listTools' | 'readResource'>

interface App {
  readonly tool: string
  readonly uri: string
  /** The contents of the interface without their own URIs. */
  readonly contents: readonly unknown[]
}

/** Reads the interface of every tool of a client. */
async function appsOf(client: Reader): Promise<App[]> {
  const apps: App[] = []
  for (const { name: tool, _meta: meta } of (await client.listTools()).tools) {
    const uri = (meta?.ui as { resourceUri?: string } | undefined)?.resourceUri
    if (uri === undefined) continue
    const { contents } = await client.readResource({ uri })
    assert.deepEqual(
      contents.map((content) => content.uri),
      [uri]
    )
    apps.push({ tool, uri, contents: contents.map(({ uri: _uri, ...rest }) => rest) })
  }
  return apps
}

async function connectDirectly(t: TestContext, name: string): Promise<Client> {
  const client = new Client({ name: 'e2e', version: '1' })
  const env = cleanEnv() as Record<string, string>
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: argsOf(name), env, stderr: 'ignore' })
  )
  addCleanup(t, () => client.close())
  return client
}

test('EX-01 every tool of five published app servers behind one endpoint shows its own interface', async (t) => {
  const gateway = await startGateway(t)
  const direct = new Map<string, App>()
  for (const name of names) {
    await gateway.register({ name, transport: 'stdio', command: process.execPath, args: argsOf(name) })
    for (const app of await appsOf(await connectDirectly(t, name))) direct.set(`${name}__${app.tool}`, app)
  }
  const given = [...direct.values()].map(({ uri }) => uri)
  assert.ok(new Set(given).size < given.length, `the servers no longer share addresses: ${given.join(' ')}`)
  const clients = {
    legacy: await connectV1(t, gateway.url),
    modern: await connectV2(t, gateway.url),
    sse: await connectSse(t, gateway.url)
  }
  for (const [kind, client] of Object.entries(clients)) {
    const shown = await appsOf(client as Reader)
    assert.deepEqual(shown.map(({ tool }) => tool).toSorted(), [...direct.keys()].toSorted(), kind)
    assert.equal(new Set(shown.map(({ uri }) => uri)).size, direct.size)
    const right = shown.filter(({ tool, contents }) => {
      assert.deepEqual(contents, direct.get(tool)!.contents, `${kind} ${tool}`)
      return true
    })
    const servers = new Set(right.map(({ tool }) => tool.split('__', 1)[0]))
    t.diagnostic(`${kind}: ${servers.size} of ${names.length} servers show their own interface`)
    assert.equal(servers.size, names.length)
  }
})

/** Returns the names by which an interface calls tools, as its script has them. */
const calledNames = ({ contents }: App): string[] =>
  [...JSON.stringify(contents).matchAll(/callServerTool\(\{name:\\"([\w-]+)\\"/g)].map(([, name]) => name!)

test('interfaces of published app servers call the tools of their servers by the names in their scripts', async (t) => {
  const gateway = await startGateway(t)
  const callers = new Map<string, string[]>()
  for (const name of names) {
    await gateway.register({ name, transport: 'stdio', command: process.execPath, args: argsOf(name) })
    const called = (await appsOf(await connectDirectly(t, name))).flatMap(calledNames)
    for (const tool of called) callers.set(tool, [...(callers.get(tool) ?? []), name])
    await gateway.post('/api/v0/tool-groups', { name, included_servers: [name] })
  }
  const all = [...callers.values()].flat()
  assert.ok(all.length >= 3, `servers whose interfaces call tools: ${all.join(' ')}`)
  for (const connect of [connectV1, connectV2, connectSse]) {
    const together = (await connect(t, gateway.url)) as Client
    for (const [tool, servers] of callers) {
      const call = { name: tool, arguments: {} }
      if (servers.length > 1) await assert.rejects(together.callTool(call), /Unknown tool/)
      else assert.ok((await together.callTool(call)).content)
      for (const server of servers) {
        const alone = (await connect(t, `${gateway.url}/v0/groups/${server}`)) as Client
        const [given, wanted] = [
          await alone.callTool(call),
          await alone.callTool({ ...call, name: `${server}__${tool}` })
        ]
        assert.deepEqual([given.isError, Object.keys(given)], [wanted.isError, Object.keys(wanted)], server)
      }
    }
  }
})
