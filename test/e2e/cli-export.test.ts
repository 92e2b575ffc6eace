import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { later } from '../store.ts'
import { commandLine } from './cli.ts'
import { startGateway } from './harness.ts'

test('what was exported registers the same servers and groups elsewhere, secrets by reference', async (t) => {
  const [from, to] = [await startGateway(t), await startGateway(t)]
  const recorder = await startRecorder(null)
  later(t, recorder.close)
  const server = { transport: 'streamable_http', url: recorder.url }
  await from.register({ ...server, name: 'a-b', bearer_token: 'secret-1', headers: { 'X-Key': 'secret-2' } })
  await from.register({ ...server, name: 'a_b', bearer_token: 'secret-3', description: 'says ${HOME}' })
  await from.post('/api/v0/tool-groups', { name: 'g', included_servers: ['a-b'], excluded_tools: ['a-b__fail'] })
  const cli = await commandLine(t, { TOWPATH_REGISTRY: from.url })
  const folder = join(cli.home, 'out')
  const exported = await cli(['export', '-d', folder, '--json'])
  assert.equal(exported.code, 0, exported.err)
  const { files, variables } = exported.json as { files: string[]; variables: string[] }
  for (const file of files) {
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.doesNotMatch(await readFile(file, 'utf8'), /secret-\d|HOME/)
  }
  assert.equal((await stat(folder)).mode & 0o777, 0o700)
  assert.deepEqual(variables, [
    'SERVER_A_B_BEARER_TOKEN',
    'SERVER_A_B_HEADERS_X_KEY',
    'SERVER_A_B_DESCRIPTION',
    'SERVER_A_B_BEARER_TOKEN_2'
  ])
  assert.equal((await cli(['export', '-d', folder])).code, 2)

  const env = {
    TOWPATH_REGISTRY: to.url,
    SERVER_A_B_BEARER_TOKEN: 'secret-1',
    SERVER_A_B_HEADERS_X_KEY: 'secret-2',
    SERVER_A_B_DESCRIPTION: 'says ${HOME}',
    SERVER_A_B_BEARER_TOKEN_2: 'secret-3'
  }
  const registered = await cli(['register', '-c', join(folder, 'servers')], { env })
  assert.equal(registered.code, 0, registered.err)
  assert.equal((await cli(['create', 'group', '-c', join(folder, 'groups/g.json')], { env })).code, 0)
  for (const path of ['/api/v0/server_configs', '/api/v0/tool-groups'])
    assert.deepEqual((await to.get(path)).body, (await from.get(path)).body)

  const whole = join(cli.home, 'whole')
  assert.equal((await cli(['export', '-d', whole, '--with-secrets'])).code, 0)
  assert.match(await readFile(join(whole, 'servers/a-b.json'), 'utf8'), /secret-1/)
  await writeFile(join(cli.home, 'file'), '')
  assert.equal((await cli(['export', '-d', join(cli.home, 'file')])).code, 2)
})
