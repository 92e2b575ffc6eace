import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { addCleanup, tempDir } from '../store.ts'
import { commandLine } from './cli.ts'
import { startGateway } from './harness.ts'

/** Starts an HTTP server for one test and returns its URL. */
async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  addCleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const stdio = (name: string, command: string, args: readonly string[], env: Record<string, string> = {}) => ({
  name,
  transport: 'stdio',
  command,
  args,
  env
})

/** Answers like a registry that has no packages. */
const emptyRegistry: RequestListener = (_request, response) => {
  response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}')
}

test('a wrong npm package is explained by the line of npx that names it, and by the next step', async (t) => {
  const registry = await listen(t, emptyRegistry)
  const gateway = await startGateway(t)
  const env = { npm_config_registry: `${registry}/`, npm_config_cache: await tempDir(t) }
  const input = stdio('issues', 'npx', ['-y', '@example/does-not-exist-xyz'], env)
  const { status, body } = await gateway.post('/api/v0/servers', input)
  assert.equal(status, 502)
  assert.match(body.error, /exited with code 1: npm error 404 Not Found - GET/)
  assert.equal(body.cause, 'npm_package_not_found')
  assert.match(body.next_step, /Check the name of the package/)
  assert.ok(body.stderr.some((line: string) => line.includes('A complete log of this run')))
  assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])
})

test('programs of Node.js and Python that fail are explained, without the secrets of their server', async (t) => {
  const gateway = await startGateway(t)
  const folder = await tempDir(t)
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const key = 'a-very-secret-value-42'
  const login = `console.error('FATAL: login with ' + process.env.KEY + ' failed: authentication failed')
console.error('bye')
process.exit(1)`
  const cases = [
    [stdio('a', 'node', [join(folder, 'missing.js')]), 'node_module_not_found', /Cannot find module/],
    [stdio('b', 'python3', ['-m', 'towpath_missing_module']), 'python_module_not_found', /No module named/],
    [
      stdio('c', 'python3', [await file('key.py', 'import os\nos.environ["API_KEY"]\n')]),
      'missing_variable',
      /KeyError/
    ],
    [
      stdio('d', 'node', [await file('login.mjs', login)], { KEY: key }),
      'credentials_rejected',
      /FATAL: login with \*\*\*/
    ],
    [stdio('e', 'node', [await file('nothing.mjs', 'export {}')]), 'exited_at_once', /exited with code 0$/],
    [stdio('f', 'uvxx', ['mcp-server-time']), 'command_not_found', /"uvxx" was not found/]
  ] as const
  for (const [input, cause, error] of cases) {
    const { status, body, text } = await gateway.post('/api/v0/servers', input)
    assert.deepEqual([input.name, status, body.cause], [input.name, 502, cause])
    assert.match(body.error, error)
    assert.ok(!text.includes(key))
  }
})

test('servers with a URL are explained by what answers there', async (t) => {
  const gateway = await startGateway(t)
  const page = await listen(t, (_request, response) => void response.setHeader('content-type', 'text/html').end('<p>'))
  const nothing = await listen(t, (_request, response) => void response.writeHead(404).end())
  const cases = [
    ['http://127.0.0.1:9/mcp', 'connection_refused'],
    ['http://does-not-exist.invalid/mcp', 'host_not_found'],
    [page, 'html_answer'],
    [`${nothing}/`, 'wrong_path'],
    [page.replace('http:', 'https:'), 'tls_failed']
  ] as const
  for (const [url, cause] of cases) {
    const { body } = await gateway.post('/api/v0/servers', { name: 'a', transport: 'streamable_http', url })
    assert.deepEqual([url, body.cause], [url, cause], body.error)
    assert.match(body.next_step, /\.$/)
  }
})

test('the command line shows the last lines of stderr and the next step as a hint', async (t) => {
  const gateway = await startGateway(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const command = ['register', 'a', '--', 'python3', '-c', 'import towpath_missing_module']
  const failed = await cli(command)
  assert.equal(failed.code, 1)
  assert.match(failed.err, /^error: server "a": the process exited with code 1: ModuleNotFoundError/)
  assert.match(failed.err, /\nlast lines of stderr:\n {2}Traceback/)
  assert.match(failed.err, /\nhint: Python cannot find a package of the server\. Install/)
  const json = JSON.parse((await cli([...command.slice(0, 2), '--json', ...command.slice(2)])).err)
  assert.equal(json.cause, 'python_module_not_found')
  assert.ok(json.stderr.length > 1)
})

test('the command line saves a server that does not answer, and says how to enable it', async (t) => {
  const gateway = await startGateway(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const saved = await cli(['register', 'late', '--save-disabled', '--', 'python3', '-m', 'towpath_missing_module'])
  assert.equal(saved.code, 0, saved.err)
  assert.match(saved.err, /server "late" is saved disabled: .*No module named/)
  assert.match(saved.err, /hint: towpath enable server late/)
  assert.match((await cli(['list', 'servers'])).out, /late +disabled/)
  const enabled = await cli(['enable', 'server', 'late'])
  assert.equal(enabled.code, 1)
  assert.match(enabled.err, /hint: Python cannot find a package/)
})
