import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { register } from '../app.ts'
import { twoSkills } from '../fixtures/skills/files.ts'
import { startSkillServer } from '../fixtures/skills/official.ts'
import { addCleanup } from '../store.ts'
import { routesTo } from './app-helpers.ts'
import { startMcp, type Mcp } from './mcp-helpers.ts'

const DISABLED = ['ui://chart/app.html', 'demo://docs/secret', 'https://docs.example/secret']
const ENABLED = ['ui://other/app.html', 'demo://docs/open', 'https://docs.example/open']

/** A server of the official SDK, which finds resources by what `new URL` makes of an address. */
async function addResources(t: TestContext, { app }: Mcp): Promise<void> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'alpha', version: '1' }, { capabilities: { resources: {} } })
    for (const uri of [...DISABLED, ...ENABLED]) {
      server.registerResource(uri, uri, {}, async () => ({ contents: [{ uri, text: `text of ${uri}` }] }))
    }
    return server
  })
  const handle = toNodeHandler(handler)
  const http = createServer((request, response) => void handle(request as NodeIncomingMessageLike, response))
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening))
  addCleanup(t, () => {
    http.close()
    http.closeAllConnections()
  })
  const { port } = http.address() as AddressInfo
  await register(app, { name: 'alpha', transport: 'streamable_http', url: `http://127.0.0.1:${port}/mcp` })
}

const disable = async ({ app }: Mcp, kind: string, entity: string) => {
  const url = `/api/v0/${kind}/disable?entity=${encodeURIComponent(entity)}`
  assert.equal((await app.inject({ method: 'POST', url })).statusCode, 200, entity)
}

/** A modern request names the URI in a header too, which has no line ends. */
const canSend = (route: string, uri: string) => !route.includes('modern') || !uri.includes('\n')

/** Spellings that URL parsers, or programs that decode and trim, read as the URI `<scheme>://<path>`. */
const spellings = (scheme: string, path: string): string[] => [
  `${scheme}://${path}`,
  `${scheme.toUpperCase()}://${path}`,
  `${scheme}://${path.replace('/', '/./')}`,
  `${scheme}://${path.replace('/', '/x/../')}`,
  `${scheme}://${path.replace('/', '/x/%2e%2e/')}`,
  `${scheme}://${path.slice(0, -3)}\t${path.slice(-3)}`,
  `${scheme}://${path.slice(0, -3)}\n${path.slice(-3)}`,
  `${scheme.slice(0, 2)}\t${scheme.slice(2)}://${path}`,
  `${scheme}://${path}\t`,
  ` ${scheme}://${path}`,
  `${scheme}://${path.slice(0, -1)}%${path.charCodeAt(path.length - 1).toString(16)}`
]

test('a disabled resource or interface is read in no spelling, by no route and not over REST', async (t) => {
  const mcp = await startMcp(t)
  await addResources(t, mcp)
  await disable(mcp, 'resources', 'ui://alpha/chart/app.html')
  for (const uri of DISABLED.slice(1)) await disable(mcp, 'resources', uri)
  const hostile = [
    ...spellings('ui', 'alpha/chart/app.html'),
    ...['demo', 'https'].flatMap((scheme) => {
      const own = spellings(scheme, scheme === 'demo' ? 'docs/secret' : 'docs.example/secret')
      return [...own, ...own.map((uri) => `towpath://alpha/${uri}`)]
    }),
    'https://docs.example:443/secret',
    'https://DOCS.example/secret'
  ]
  for (const route of await routesTo(t, mcp)) {
    for (const uri of hostile.filter((each) => canSend(route.name, each))) {
      const answer = await route.request('resources/read', { uri })
      assert.equal(answer.result, undefined, `${route.name} ${JSON.stringify(uri)}: ${JSON.stringify(answer.result)}`)
    }
    for (const uri of ['ui://alpha/other/app.html', ...ENABLED.slice(1)]) {
      assert.ok((await route.request('resources/read', { uri })).result, `${route.name} ${uri}`)
    }
  }
  for (const uri of hostile) {
    const answer = await mcp.app.inject({ method: 'POST', url: '/api/v0/resources/read', payload: { uri } })
    assert.notEqual(answer.statusCode, 200, uri)
  }
})

test('a disabled skill is read in no spelling, and an enabled one is', async (t) => {
  const mcp = await startMcp(t)
  const server = await startSkillServer('guide', twoSkills('guide'))
  addCleanup(t, server.close)
  await register(mcp.app, { name: 'guide', transport: 'streamable_http', url: server.url })
  await disable(mcp, 'skills', 'skill://guide/refunds/SKILL.md')
  const hostile = [
    ...spellings('skill', 'guide/refunds/SKILL.md'),
    ...spellings('skill', 'refunds/SKILL.md'),
    ...spellings('skill', 'refunds/SKILL.md').map((uri) => `towpath://guide/${uri}`)
  ]
  for (const route of await routesTo(t, mcp)) {
    for (const method of ['resources/read', 'skills/get']) {
      for (const uri of hostile.filter((each) => canSend(route.name, each))) {
        const { result } = await route.request(method, { uri })
        assert.equal(result, undefined, `${route.name} ${method} ${JSON.stringify(uri)}: ${JSON.stringify(result)}`)
      }
    }
  }
})
