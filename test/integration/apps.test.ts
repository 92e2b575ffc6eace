import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { test, type TestContext } from 'node:test'
import { appTool, CHART, htmlOf, UI, uiMeta, type AppServer } from '../fixtures/http/apps.ts'
import { addCleanup } from '../store.ts'
import { freshConfig, openApp } from '../app.ts'
import { addApps, htmlAt, readAt, routesTo, type Route } from './app-helpers.ts'
import { until } from '../until.ts'
import {
  addRecorder,
  MODERN,
  modernBody,
  modernHeaders,
  openStream,
  startMcp,
  type Mcp,
  type RpcAnswer
} from './mcp-helpers.ts'
import { both } from './mcp-messages.ts'

const at = (server: string) => `ui://${server}/chart/app.html`

async function rest(mcp: Mcp, method: 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) {
  const answer = await mcp.app.inject({ method, url: `/api/v0${path}`, ...(payload ? { payload } : {}) })
  assert.ok(answer.statusCode < 300, answer.body)
}

/** Starts a gateway with two servers that use the same address for their interfaces. */
async function startTwo(t: TestContext) {
  const mcp = await startMcp(t)
  const alpha = await addApps(t, mcp, { name: 'alpha' })
  const beta = await addApps(t, mcp, { name: 'beta', modern: true })
  return { mcp, alpha, beta }
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
async function listAt(route: Route, method: string, member: string): Promise<any[]> {
  const { result } = await route.request(method)
  return result[member]
}

test('EX-01 every tool names the interface of its own server, which is read at that address', async (t) => {
  const { mcp, alpha, beta } = await startTwo(t)
  for (const route of await routesTo(t, mcp)) {
    const tools = new Map((await listAt(route, 'tools/list', 'tools')).map((tool) => [tool.name, tool]))
    for (const server of ['alpha', 'beta']) {
      assert.deepEqual(tools.get(`${server}__chart`)._meta.ui, {
        resourceUri: at(server),
        visibility: ['model', 'app']
      })
      assert.deepEqual(tools.get(`${server}__old`)._meta, { 'ui/resourceUri': at(server) })
      assert.deepEqual(tools.get(`${server}__gpt`)._meta, {
        'openai/outputTemplate': at(server),
        'openai/widgetAccessible': true
      })
      assert.equal(tools.get(`${server}__plain`)._meta, undefined)
      const content = await readAt(route, at(server))
      assert.deepEqual(content, {
        uri: at(server),
        mimeType: 'text/html;profile=mcp-app',
        text: htmlOf(server, CHART),
        _meta: { ui: uiMeta }
      })
    }
    const resources = await listAt(route, 'resources/list', 'resources')
    assert.deepEqual(
      resources.map(({ uri }) => uri),
      [at('alpha'), at('beta')],
      route.name
    )
    assert.deepEqual(resources[0]._meta, { ui: uiMeta })
  }
  for (const server of [alpha, beta]) assert.deepEqual([...new Set(server.reads())], [CHART])
})

test('EX-02 an address without its server is not found while two servers have it, and found while one does', async (t) => {
  const { mcp } = await startTwo(t)
  const routes = await routesTo(t, mcp)
  for (const route of routes) assert.equal(await htmlAt(route, CHART), undefined, route.name)
  await rest(mcp, 'POST', '/servers/alpha/disable')
  for (const route of routes) {
    const content = await readAt(route, CHART)
    assert.ok(typeof content === 'object', route.name)
    assert.deepEqual([content.uri, content.text], [CHART, htmlOf('beta', CHART)])
    assert.equal(await htmlAt(route, at('alpha')), undefined)
  }
  await rest(mcp, 'POST', '/servers/alpha/enable')
  for (const route of routes) assert.equal(await htmlAt(route, CHART), undefined, route.name)
})

test('EX-03 a server that shows its interfaces only to clients that declare them shows them through the gateway', async (t) => {
  const mcp = await startMcp(t)
  await addApps(t, mcp, { name: 'shy', isShy: true })
  await addApps(t, mcp, { name: 'new', isShy: true, modern: true })
  for (const route of await routesTo(t, mcp)) {
    const tools = await listAt(route, 'tools/list', 'tools')
    const named = tools.flatMap(({ name, _meta }) => (_meta?.ui ? [[name, _meta.ui.resourceUri]] : []))
    assert.deepEqual(named, [
      ['new__chart', at('new')],
      ['shy__chart', at('shy')]
    ])
  }
})

test('EX-03 what a caller declares reaches the server with its calls, in both eras', async (t) => {
  const mcp = await startMcp(t)
  const shy = await addApps(t, mcp, { name: 'shy' })
  const fresh = await addApps(t, mcp, { name: 'new', modern: true })
  const extensions = { [UI]: { mimeTypes: ['text/html;profile=mcp-app'] } }
  const session = await mcp.initialize('2025-11-25', { extensions })
  for (const server of ['shy', 'new']) await mcp.legacy('tools/call', { name: `${server}__chart` }, session)
  // the gateway opens sessions of its own too, to read lists
  const opened = shy.requests.filter(({ message }) => message?.method === 'initialize')
  assert.ok(opened.some(({ message }) => isDeepStrictEqual(message!.params!.capabilities, { extensions })))
  const meta = { 'io.modelcontextprotocol/protocolVersion': MODERN }
  const declared = { ...meta, 'io.modelcontextprotocol/clientCapabilities': { extensions } }
  await mcp.modern('tools/call', { name: 'new__chart', _meta: declared })
  const call = fresh.requests.filter(({ message }) => message?.method === 'tools/call').at(-1)
  const sent = call!.message!.params!._meta as Record<string, unknown>
  assert.deepEqual(sent['io.modelcontextprotocol/clientCapabilities'], { extensions })
})

test('EX-04 the extension is declared in both eras while a tool in scope names an interface, also after a restart', async (t) => {
  const config = await freshConfig(t)
  const first = await openApp(config)
  const mcp = { app: first } as Mcp
  await addApps(t, mcp, { name: 'alpha' })
  await addRecorder(t, mcp, 'plain')
  await first.close()
  const again = await openApp(config)
  addCleanup(t, () => again.close())
  const url = `${await again.listen({ port: 0, host: '127.0.0.1' })}/mcp`
  const declared = async () => {
    const reached = { app: again, url } as Mcp
    const [legacy, modern] = await routesTo(t, reached)
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    const answers = [await legacy!.request('initialize', hello), await modern!.request('server/discover')]
    return answers.map(({ result }) => result.capabilities.extensions)
  }
  assert.deepEqual(await declared(), [{ [UI]: {} }, { [UI]: {} }])
  await rest({ app: again } as Mcp, 'DELETE', '/servers/alpha')
  assert.deepEqual(await declared(), [undefined, undefined])
})

test('EX-05 links and embedded interfaces in results name their server, and can be read at that address', async (t) => {
  const { mcp } = await startTwo(t)
  for (const route of await routesTo(t, mcp)) {
    for (const server of ['alpha', 'beta']) {
      const { result } = await route.request('tools/call', { name: `${server}__link` })
      const [text, link, embedded, note] = result.content
      assert.deepEqual([text.text, link.uri, embedded.resource.uri], [CHART, at(server), at(server)], route.name)
      assert.deepEqual([embedded.resource.text, note.uri], ['<p>', 'fixture://note'])
      assert.deepEqual([result.structuredContent, result._meta.ui], [{ uri: CHART }, { resourceUri: at(server) }])
      assert.equal(await htmlAt(route, link.uri), htmlOf(server, CHART))
      const rendered = await route.request('prompts/get', { name: `${server}__greet`, arguments: { who: 'you' } })
      assert.equal(rendered.result.messages[0].content.resource.uri, at(server))
    }
  }
})

test('a group that picks a tool serves and lists its interface, and no other one of that server', async (t) => {
  const mcp = await startMcp(t)
  const tools = [appTool('chart', { ui: { resourceUri: CHART } }), appTool('map', { ui: { resourceUri: 'ui://map' } })]
  await addApps(t, mcp, { name: 'alpha', tools, resources: [CHART, 'ui://map', 'fixture://secret'], readsAll: true })
  await addApps(t, mcp, { name: 'beta', resources: [] })
  await rest(mcp, 'POST', '/tool-groups', { name: 'picked', included_tools: ['alpha__chart', 'beta__plain'] })
  await rest(mcp, 'POST', '/tool-groups', { name: 'other', included_tools: ['alpha__chart', 'beta__chart'] })
  for (const route of await routesTo(t, mcp, 'picked')) {
    const listed = await listAt(route, 'resources/list', 'resources')
    assert.deepEqual(
      listed.map(({ uri }) => uri),
      [at('alpha')]
    )
    assert.equal(await htmlAt(route, at('alpha')), htmlOf('alpha', CHART))
    assert.equal(await htmlAt(route, CHART), htmlOf('alpha', CHART))
    for (const uri of ['ui://alpha/map', 'ui://map', at('beta'), 'fixture://secret', 'ui://alpha/other']) {
      assert.equal(await htmlAt(route, uri), undefined, uri)
    }
    const direct = await readAt(route, `towpath://alpha/${CHART}`)
    assert.equal(typeof direct, 'number')
  }
  for (const route of await routesTo(t, mcp, 'other')) {
    // beta does not list its interface, but its tool names it
    assert.equal(await htmlAt(route, at('beta')), htmlOf('beta', CHART))
    assert.equal(await htmlAt(route, CHART), undefined)
  }
})

test('a bare group passes addresses of interfaces unchanged', async (t) => {
  const { mcp } = await startTwo(t)
  await rest(mcp, 'POST', '/tool-groups', { name: 'bare', included_servers: ['beta'], tool_names: 'bare' })
  for (const route of await routesTo(t, mcp, 'bare')) {
    const tools = await listAt(route, 'tools/list', 'tools')
    assert.equal(tools.find(({ name }) => name === 'chart')._meta.ui.resourceUri, CHART)
    assert.deepEqual(
      (await listAt(route, 'resources/list', 'resources')).map(({ uri }) => uri),
      [CHART]
    )
    assert.equal(await htmlAt(route, CHART), htmlOf('beta', CHART))
    const { result } = await route.request('tools/call', { name: 'link' })
    assert.deepEqual([result.content[1].uri, result._meta.ui.resourceUri], [CHART, CHART])
  }
})

test('a server whose apps are off shows no interface anywhere, until they are on again', async (t) => {
  const mcp = await startMcp(t)
  const alpha = await addApps(t, mcp, { name: 'alpha' }, { apps: false })
  const [legacy, modern] = await routesTo(t, mcp)
  const extensions = async () => (await modern!.request('server/discover')).result.capabilities.extensions
  const uis = async () => (await listAt(legacy!, 'tools/list', 'tools')).flatMap(({ _meta }) => _meta ?? [])
  const record = async (path: string) => (await mcp.app.inject({ url: path })).json()
  assert.equal(await extensions(), undefined)
  assert.deepEqual(await uis(), [{ ui: { visibility: ['model', 'app'] } }, {}, { 'openai/widgetAccessible': true }])
  const { result } = await legacy!.request('tools/call', { name: 'alpha__link' })
  assert.deepEqual(result._meta, { ui: {} })
  assert.equal((await record('/api/v0/servers/alpha')).apps, false)
  const [config] = await record('/api/v0/server_configs')
  assert.equal(config.apps, false)
  assert.equal((await record('/api/dashboard/servers/alpha')).config_summary.apps, false)
  const { apps: _apps, ...usual } = config
  await rest(mcp, 'PUT', '/servers/alpha', usual)
  assert.deepEqual([await extensions(), (await record('/api/v0/servers/alpha')).apps], [{ [UI]: {} }, undefined])
  assert.equal((await uis())[0].ui.resourceUri, at('alpha'))
  assert.ok(alpha.requests.length > 0)
})

test('EX-05 SR-H3 addresses in large results name their server on every route, and links can be read', async (t) => {
  const mcp = await startMcp(t)
  const text = 'ü'.repeat(300_000)
  const result = {
    content: [
      { type: 'text', text },
      { type: 'resource_link', uri: CHART, name: 'chart' },
      { type: 'resource_link', uri: 'fixture://unlisted', name: 'note' }
    ]
  }
  for (const modern of [false, true]) {
    const name = modern ? 'beta' : 'alpha'
    await addApps(t, mcp, { name, modern, result, readsAll: true })
    const called = { name: `${name}__link` }
    for (const route of await routesTo(t, mcp)) {
      const { content } = (await route.request('tools/call', called)).result
      assert.equal(content[0].text, text)
      assert.deepEqual([content[1].uri, content[2].uri], [at(name), 'fixture://unlisted'], route.name)
      if (!modern) assert.equal(await htmlAt(route, 'fixture://unlisted'), htmlOf('alpha', 'fixture://unlisted'))
    }
    const answer = await mcp.app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: called })
    assert.equal(answer.json().content[1].uri, at(name))
  }
})

test('EX-01 EX-02 EX-05 hold over REST', async (t) => {
  const { mcp } = await startTwo(t)
  const get = async (url: string) => (await mcp.app.inject({ url: `/api/v0${url}` })).json()
  const post = async (url: string, payload: object) => {
    const answer = await mcp.app.inject({ method: 'POST', url: `/api/v0${url}`, payload })
    return { status: answer.statusCode, body: answer.json() }
  }
  for (const server of ['alpha', 'beta']) {
    const tool = await get(`/tool?name=${server}__chart`)
    assert.equal(tool._meta.ui.resourceUri, at(server))
    const read = await post('/resources/read', { uri: at(server) })
    assert.deepEqual([read.body.contents[0].uri, read.body.contents[0].text], [at(server), htmlOf(server, CHART)])
    const { body } = await post('/tools/invoke', { name: `${server}__link` })
    assert.deepEqual([body.content[1].uri, body.content[2].resource.uri], [at(server), at(server)])
  }
  assert.deepEqual(
    (await get('/resources')).map(({ uri }: { uri: string }) => uri),
    [at('alpha'), at('beta')]
  )
  assert.equal((await post('/resources/read', { uri: CHART })).status, 404)
  await post(`/resources/disable?entity=${encodeURIComponent(at('alpha'))}`, {})
  assert.equal((await post('/resources/read', { uri: at('alpha') })).status, 409)
  assert.equal((await post('/resources/read', { uri: CHART })).body.contents[0].text, htmlOf('beta', CHART))
})

test('updates of an interface come under the address that was subscribed to, in both eras', async (t) => {
  const { mcp, alpha, beta } = await startTwo(t)
  const session = await mcp.initialize()
  const stream = await openStream(t, mcp.url, { headers: { accept: 'text/event-stream', ...session } })
  for (const server of ['alpha', 'beta']) {
    const { body } = await mcp.legacy('resources/subscribe', { uri: at(server) }, session)
    assert.deepEqual(body.result, {})
  }
  const notifications = { resourceSubscriptions: [at('beta')] }
  const listening = await openStream(t, mcp.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: both, ...modernHeaders('subscriptions/listen') },
    body: modernBody('subscriptions/listen', { notifications })
  })
  await until('the subscription is acknowledged', () => listening.messages.length > 0)
  const updates = ({ messages }: { messages: RpcAnswer[] }) =>
    (messages as { method?: string; params?: { uri?: string } }[]).flatMap(({ method, params }) =>
      method === 'notifications/resources/updated' ? [params!.uri] : []
    )
  await until('both servers are watched', () => {
    beta.announce('notifications/resources/updated', { uri: CHART })
    return updates(stream).includes(at('beta')) && updates(listening).includes(at('beta'))
  })
  assert.ok(!updates(stream).includes(at('alpha')) && !updates(stream).includes(CHART))
  await until('the other server is watched', () => {
    alpha.announce('notifications/resources/updated', { uri: CHART })
    return updates(stream).includes(at('alpha'))
  })
  assert.deepEqual([...new Set(updates(listening))], [at('beta')])
})

test('templates of interfaces name their server, and are completed and read there', async (t) => {
  const mcp = await startMcp(t)
  const own = 'ui://chart/{page}'
  const options = { resources: [], templates: [own], readsAll: true }
  const alpha = await addApps(t, mcp, { name: 'alpha', ...options })
  const beta = await addApps(t, mcp, { name: 'beta', modern: true, ...options })
  const completed = (server: AppServer) =>
    server.requests.flatMap(({ message }) =>
      message?.method === 'completion/complete' ? [(message.params!.ref as { uri: string }).uri] : []
    )
  for (const route of await routesTo(t, mcp)) {
    const templates = await listAt(route, 'resources/templates/list', 'resourceTemplates')
    assert.deepEqual(
      templates.map(({ uriTemplate }) => uriTemplate),
      ['ui://alpha/chart/{page}', 'ui://beta/chart/{page}']
    )
    const complete = (uri: string) =>
      route.request('completion/complete', {
        ref: { type: 'ref/resource', uri },
        argument: { name: 'page', value: 'a' }
      })
    assert.equal((await complete('ui://alpha/chart/{page}')).error, undefined)
    assert.equal((await complete(own)).error?.code, -32602)
    assert.equal(await htmlAt(route, 'ui://beta/chart/1'), htmlOf('beta', 'ui://chart/1'))
  }
  assert.deepEqual([...new Set(completed(alpha))], [own])
  assert.deepEqual(completed(beta), [])
})
