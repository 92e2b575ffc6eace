import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { firstOf } from '../matrix.ts'
import { engines, freshPlace, addCleanup, tempDir } from '../store.ts'
import { restart, startGateway, type Gateway } from './harness.ts'
import { context7, everything, filesystem, memory, type Upstream } from './peers.ts'
import { rawHttp, readLists, type Definition, type Listing } from './raw.ts'
import { registrationOf, startUpstream } from './upstream.ts'

/** A registered server and its lists when asked directly. */
interface RegisteredServer {
  readonly name: string
  readonly lists: Listing
}

async function registerAll(
  t: TestContext,
  gateway: Gateway,
  upstreams: Record<string, Upstream>
): Promise<RegisteredServer[]> {
  const known: RegisteredServer[] = []
  for (const [name, { registration, direct }] of Object.entries(upstreams)) {
    const peer = await direct()
    addCleanup(t, () => peer.close())
    known.push({ name, lists: await readLists(peer) })
    await gateway.register({ ...registration, name })
  }
  return known
}

const byName = (known: RegisteredServer[]) => known.toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** Returns the URI at the gateway: the server registered first keeps a shared URI, the others get an alias. */
function uriOf(
  known: RegisteredServer[],
  kind: 'resources' | 'resourceTemplates',
  { name }: RegisteredServer,
  uri: string
): string {
  const key = kind === 'resources' ? 'uri' : 'uriTemplate'
  const owner = known.find(({ lists }) => lists[kind].some((item) => item[key] === uri))
  return owner?.name === name ? uri : `towpath://${name}/${uri}`
}

/** Returns true for a tool that requires tasks. Tasks are not forwarded, so such a tool cannot be used. */
const isTaskAlone = ({ execution }: Definition) =>
  (execution as { taskSupport?: string } | undefined)?.taskSupport === 'required'

function toolRecord(name: string, tool: Definition) {
  const { inputSchema, outputSchema, ...rest } = tool

  const output = outputSchema === undefined ? {} : { output_schema: outputSchema }
  return { ...rest, name: `${name}__${rest.name}`, enabled: !isTaskAlone(tool), input_schema: inputSchema, ...output }
}

function resourceRecord(known: RegisteredServer[], server: RegisteredServer, { mimeType, ...rest }: Definition) {
  const uri = uriOf(known, 'resources', server, String(rest.uri))
  return { ...rest, uri, enabled: true, ...(mimeType === undefined ? {} : { mime_type: mimeType }) }
}

async function assertRest(gateway: Gateway, known: RegisteredServer[]): Promise<void> {
  const all = byName(known)
  const tools = await gateway.get('/api/v0/tools')
  assert.deepEqual(
    tools.body,
    all.flatMap(({ name, lists }) => lists.tools.map((tool) => toolRecord(name, tool)))
  )
  for (const { inputSchema } of all.flatMap(({ lists }) => lists.tools)) {
    assert.ok(tools.text.includes(`"input_schema":${JSON.stringify(inputSchema)}`), 'schema byte for byte')
  }
  assert.deepEqual(
    (await gateway.get('/api/v0/prompts')).body,
    all.flatMap(({ name, lists }) =>
      lists.prompts.map((prompt) => ({ ...prompt, name: `${name}__${prompt.name}`, enabled: true }))
    )
  )
  assert.deepEqual(
    (await gateway.get('/api/v0/resources')).body,
    all.flatMap((server) => server.lists.resources.map((resource) => resourceRecord(known, server, resource)))
  )
}

const callable = (tools: readonly Definition[]) => tools.filter((tool) => !isTaskAlone(tool))

/** Returns the tool as it is listed to MCP clients: without `execution`, since tasks are not forwarded. */
function listedTool(name: string, { execution, ...rest }: Definition): Definition {
  const { taskSupport: _, ...others } = (execution ?? {}) as Record<string, unknown>
  return { ...rest, name: `${name}__${rest.name}`, ...(Object.keys(others).length > 0 ? { execution: others } : {}) }
}

function listedResource(
  known: RegisteredServer[],
  kind: 'resources' | 'resourceTemplates',
  server: RegisteredServer,
  item: Definition
) {
  const key = kind === 'resources' ? 'uri' : 'uriTemplate'
  const uri = uriOf(known, kind, server, String(item[key]))
  const isAlias = uri !== item[key]
  const title = isAlias && item.title !== undefined ? { title: `${item.title} (${server.name})` } : {}
  return { ...item, [key]: uri, ...title }
}

async function assertMcp(t: TestContext, gateway: Gateway, known: RegisteredServer[]): Promise<void> {
  const peer = rawHttp(`${gateway.url}/mcp`)
  addCleanup(t, () => peer.close())
  const lists = await readLists(peer)
  const all = byName(known)
  assert.deepEqual(
    lists.tools,
    all.flatMap(({ name, lists }) => callable(lists.tools).map((tool) => listedTool(name, tool)))
  )
  assert.deepEqual(
    lists.tools.map((tool) => JSON.stringify(tool.inputSchema)),
    all.flatMap((server) => callable(server.lists.tools).map((tool) => JSON.stringify(tool.inputSchema)))
  )
  assert.deepEqual(
    lists.prompts,
    all.flatMap(({ name, lists }) => lists.prompts.map((prompt) => ({ ...prompt, name: `${name}__${prompt.name}` })))
  )
  for (const kind of ['resources', 'resourceTemplates'] as const) {
    assert.deepEqual(
      lists[kind],
      all.flatMap((server) => server.lists[kind].map((item) => listedResource(known, kind, server, item)))
    )
  }
}

for (const engine of firstOf(engines)) {
  test(`real servers are shown exactly as they list themselves, also after a restart (${engine})`, async (t) => {
    const folder = await tempDir(t)
    const gateway = await startGateway(t, { place: await freshPlace(t, engine) })
    const known = await registerAll(t, gateway, {
      over_stdio: await everything(t, 'stdio'),
      over_http: await everything(t, 'streamable_http'),
      over_sse: await everything(t, 'sse'),
      filesystem: filesystem(folder),
      memory: memory(join(folder, 'memory.json')),
      context7_stdio: await context7(t, 'stdio'),
      context7_http: await context7(t, 'streamable_http')
    })
    assert.deepEqual(
      known.map(({ lists }) => lists.tools.length > 0),
      known.map(() => true)
    )
    await assertRest(gateway, known)
    await assertMcp(t, gateway, known)

    await gateway.stop()
    const again = await restart(t, gateway)
    await assertRest(again, known)
    await assertMcp(t, again, known)
  })
}

/** Members that JSON parsing or a database would change: order, digits, white space, numeric names, unknown members. */
const oddSchema =
  '{ "type":"object", "$defs":{"10":{"const":1.0},"2":{"maximum":12345678901234567890}},  "oneOf":[{"$ref":"#/$defs/10"}],"x":"\\u00e9é\\/" }'
const oddTool = `{"inputSchema":${oddSchema},"futureMember":[1e2,{"a":null}],"name":"odd","_meta":{"com.example/z":1,"a":0.10},"icons":[{"src":"data:,x"}]}`

for (const engine of firstOf(engines)) {
  test(`a definition passes byte for byte, also after a restart (${engine})`, async (t) => {
    const upstream = await startUpstream(t, 'odd', {
      onRequest({ id, method }, response) {
        if (method !== 'tools/list') return false
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[${oddTool}]}}`)
        return true
      }
    })
    const gateway = await startGateway(t, { place: await freshPlace(t, engine) })
    await gateway.register(registrationOf('odd', upstream))
    const assertSame = async ({ url, get }: Gateway) => {
      const rest = (await get('/api/v0/tools')).text
      assert.ok(rest.includes(`"input_schema":${oddSchema}`), rest)
      for (const part of ['"futureMember":[1e2,{"a":null}]', '"_meta":{"com.example/z":1,"a":0.10}']) {
        assert.ok(rest.includes(part), rest)
      }
      const peer = rawHttp(`${url}/mcp`)
      addCleanup(t, () => peer.close())
      const listed = await peer.request('tools/list')
      assert.ok(listed.includes(oddTool.replace('"odd"', '"odd__odd"')), listed)
    }
    await assertSame(gateway)
    await gateway.stop()
    await assertSame(await restart(t, gateway))
  })
}
