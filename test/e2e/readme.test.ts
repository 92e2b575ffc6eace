import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { later } from '../store.ts'
import { actorAt } from './enterprise.ts'
import { cleanEnv, root, startGateway } from './harness.ts'

const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** Fenced blocks whose info string has a second word, which says what this test does with them. */
const blocks = [...readme.matchAll(/^```\w+ (run|answer|client|enterprise)\n(.*?)^```$/gms)].map(
  ([, use = '', text = '']) => ({
    use,
    text
  })
)

test('the commands of the README work one after the other and give the answers that it shows', async (t) => {
  const gateway = await startGateway(t, { args: ['--demo'] })
  const here = (text: string) => text.replaceAll('http://localhost:8080', gateway.url)
  let printed = ''
  for (const { use, text } of blocks) {
    if (use === 'answer') assert.deepEqual(JSON.parse(printed), JSON.parse(text))
    if (use === 'run') {
      const { stdout } = await promisify(execFile)('bash', ['-c', here(text)], { cwd: root, env: cleanEnv() })
      printed = stdout
    }
  }
  assert.deepEqual((await gateway.get('/api/v0/servers')).body.length, 1, 'only the demo server is left')
})

test('what the README tells to do in enterprise mode makes a user and a client that can use the demo server', async (t) => {
  const gateway = await startGateway(t, { args: ['--demo'], env: { SERVER_MODE: 'enterprise' } })
  const script = blocks.filter(({ use }) => use === 'enterprise').map(({ text }) => text)
  const commands = script.join('').replaceAll('http://localhost:8080', gateway.url)
  const { stdout } = await promisify(execFile)('bash', ['-c', commands], { cwd: root, env: cleanEnv() })
  const [ann, agent] = JSON.parse(`[${stdout.replace('}{', '},{')}]`)
  assert.deepEqual([ann.name, ann.role, agent.name, agent.allowed_servers], ['ann', 'user', 'my-agent', ['demo']])
  const user = actorAt(t, gateway.url, ann.access_token)
  assert.equal((await user.post('/api/v0/tools/invoke', { name: 'demo__add', a: 2, b: 40 })).status, 200)
  const tools = (await actorAt(t, gateway.url, agent.access_token).modern('tools/list')).body.result.tools
  assert.equal(tools.length, 3)
})

test("the README's client configuration connects a client to the demo server's tools", async (t) => {
  const gateway = await startGateway(t, { args: ['--demo'] })
  const { mcpServers } = JSON.parse(blocks.find(({ use }) => use === 'client')!.text)
  const client = new Client({ name: 'readme', version: '1' })
  later(t, () => client.close())
  const url = new URL(mcpServers.towpath.url.replace('http://localhost:8080', gateway.url))
  await client.connect(new StreamableHTTPClientTransport(url) as Transport)
  assert.deepEqual(
    (await client.listTools()).tools.map((tool) => tool.name),
    ['demo__add', 'demo__time_now', 'demo__word_count']
  )
  assert.ok(readme.includes(`claude mcp add --transport http towpath ${mcpServers.towpath.url}`))
})

test('every path that the README names is there', async (t) => {
  const gateway = await startGateway(t)
  const table = readme.slice(readme.indexOf('## HTTP interface'), readme.indexOf('## Storage'))
  const paths = [...table.matchAll(/`(\/[\w/.]+)`/g)].map(([, path = '']) => path)
  assert.ok(paths.length >= 10, String(paths))
  for (const path of paths) {
    const { status, body } = await fetch(gateway.url + path)
    assert.notEqual(status, 404, path)
    // some are streams without end
    await body?.cancel()
  }
})

test('what the README tells to type first starts the gateway and its tests', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.ok(readme.includes('\n```sh\nnpm ci && npm start -- --demo\nnpm test\n```\n'))
  assert.ok('start' in scripts && 'test' in scripts)
})
