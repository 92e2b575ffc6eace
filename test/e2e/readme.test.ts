import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { freshPlace } from '../store.ts'
import { actorAt } from './enterprise.ts'
import { cleanEnv, root, startGateway } from './harness.ts'
import { blocksOf, readPage } from './pages.ts'

const readme = readPage('README.md')

test('what the README tells to do in enterprise mode makes a user and a client that can use the demo server', async (t) => {
  const gateway = await startGateway(t, {
    place: await freshPlace(t, 'pglite'),
    args: ['--demo'],
    env: { SERVER_MODE: 'enterprise' }
  })
  const script = blocksOf(readme, 'enterprise').map(({ text }) => text)
  const commands = script.join('').replaceAll('http://localhost:8080', gateway.url)
  const { stdout } = await promisify(execFile)('bash', ['-c', commands], { cwd: root, env: cleanEnv() })
  const [ann, agent] = JSON.parse(`[${stdout.replace('}{', '},{')}]`)
  assert.deepEqual([ann.name, ann.role, agent.name, agent.allowed_servers], ['developer', 'user', 'my-agent', ['demo']])
  const user = actorAt(t, gateway.url, ann.access_token)
  assert.equal((await user.post('/api/v0/tools/invoke', { name: 'demo__add', a: 2, b: 40 })).status, 200)
  const tools = (await actorAt(t, gateway.url, agent.access_token).modern('tools/list')).body.result.tools
  assert.equal(tools.length, 3)
})

test('every path that the README names is there', async (t) => {
  const gateway = await startGateway(t)
  const table = readme.slice(readme.indexOf('## HTTP interface'), readme.indexOf('## Storage'))
  const paths = [...table.matchAll(/`(\/[\w/.]+)`/g)].map(([, path = '']) => path)
  assert.ok(paths.length >= 10, String(paths))
  for (const path of paths) {
    // served only when enabled
    if (path === '/metrics') continue
    const { status, body } = await fetch(gateway.url + path)
    assert.notEqual(status, 404, path)
    // some responses are endless streams
    await body?.cancel()
  }
})

test('what the README tells to type first starts the gateway, connects an agent to it, and fits on few screens', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  // in two blocks, because the gateway stays in the foreground
  const [start, connect] = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text)
  assert.equal(start, 'npm ci && npm start -- --demo\n')
  assert.equal(connect, 'claude mcp add --transport http towpath http://localhost:8080/mcp\n')
  assert.ok('start' in scripts && 'test' in scripts)
  assert.ok(readme.split('\n').length <= 200)
})
