import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { ENOUGH_CALLS, slowToStart } from '../slow-start.ts'
import { addCleanup } from '../store.ts'
import { commandLine, type CommandLine } from './cli.ts'
import { skip, startEnterprise } from './enterprise.ts'
import { startGateway } from './harness.ts'

const figures = /slow: starting a process takes [\d.]+ s, a call [\w ]+/
const firstFigures = /^starts look expensive: slow: starting a process took [\d.]+ s, reading the lists .+$/m
const howToChoose = /^each call starts a stdio server anew; `towpath update server NAME --session-mode stateful` keeps/m

const callOften = (cli: CommandLine) =>
  Promise.all(
    Array.from({ length: ENOUGH_CALLS }, async () => {
      const called = await cli(['invoke', 'slow__echo', '--json'])
      assert.equal(called.code, 0, called.err)
    })
  )

/** Returns the commands in the hint of `doctor` for the server, as arguments of the program. */
async function offeredCommands(cli: CommandLine): Promise<string[][]> {
  const { code, out, err } = await cli(['doctor'])
  assert.equal(code, 0, out + err)
  assert.match(out, figures)
  const hint = err.split('\n').find((line) => line.startsWith('hint: starts:slow: '))!
  return [...hint.matchAll(/`towpath ([^`]+)`/g)].map(([, words]) => words!.split(' '))
}

test('import says how the mode is chosen, doctor warns of slow starts, and its command ends the warning', async (t) => {
  const gateway = await startGateway(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const recorder = await startRecorder(null)
  addCleanup(t, recorder.close)
  const { command, args } = slowToStart('slow')
  const file = join(cli.home, 'mcp.json')
  const mcpServers = { slow: { command, args, env: { KEPT: 'secret' } }, remote: { url: recorder.url } }
  await writeFile(file, JSON.stringify({ mcpServers }))

  const remote = await cli(['import', file, 'remote'])
  assert.equal(remote.code, 0, remote.err)
  assert.doesNotMatch(remote.err, /expensive|session-mode/)
  const local = await cli(['import', file, 'slow'])
  assert.equal(local.code, 0, local.err)
  assert.match(local.err, firstFigures)
  assert.match(local.err, howToChoose)
  assert.doesNotMatch((await cli(['doctor'])).out, /starts:/)

  await callOften(cli)
  assert.match((await cli(['describe', 'server', 'slow'])).out, /^starts: +starting a process takes/m)
  const offered = await offeredCommands(cli)
  assert.deepEqual(
    offered.map((words) => words.join(' ')),
    ['update server slow --session-mode stateful', 'update server slow --session-mode shared']
  )
  const before = (await gateway.get('/api/v0/server_configs')).body.find(
    ({ name }: { name: string }) => name === 'slow'
  )
  const changed = await cli([...offered[0]!, '--json'])
  assert.equal(changed.code, 0, changed.err)
  assert.equal(changed.json.session_mode, 'stateful')
  assert.match(changed.err, /updated server "slow"/)
  const after = (await gateway.get('/api/v0/server_configs')).body.find(({ name }: { name: string }) => name === 'slow')
  assert.deepEqual(after, { ...before, session_mode: 'stateful' })
  assert.doesNotMatch((await cli(['doctor'])).out, /starts:/)
})

test('setup says which servers start slowly, and how the mode is chosen', async (t) => {
  const gateway = await startGateway(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const { command, args } = slowToStart('slow')
  await mkdir(join(cli.home, '.cursor'))
  await writeFile(join(cli.home, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { slow: { command, args } } }))
  const done = await cli(['setup', '--yes'])
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, firstFigures)
  assert.match(done.err, howToChoose)
})

test('in enterprise mode doctor warns administrators, not users, who cannot change it', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  const { admin: adminToken, user: userToken } = gateway.tokens
  const admin = await commandLine(t, { TOWPATH_REGISTRY: gateway.url, TOWPATH_TOKEN: adminToken })
  const user = await commandLine(t, { TOWPATH_REGISTRY: gateway.url, TOWPATH_TOKEN: userToken })
  const { name, command, args } = slowToStart('slow')
  const registered = await admin(['register', name, '--', command, ...args])
  assert.equal(registered.code, 0, registered.err)
  await callOften(admin)
  const [, share] = await offeredCommands(admin)
  assert.doesNotMatch((await user(['doctor'])).out, /starts:/)
  assert.equal((await user(share!)).code, 4)
  assert.equal((await admin(share!)).code, 0)
  assert.equal((await admin(['get', 'server', 'slow', '--json'])).json.session_mode, 'shared')
  assert.doesNotMatch((await admin(['doctor'])).out, /starts:/)
})

test('the mode is changed of an existing server, to an existing mode, and not together with a file', async (t) => {
  const gateway = await startGateway(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const recorder = await startRecorder(null)
  addCleanup(t, recorder.close)
  await gateway.register({ name: 'alpha', transport: 'streamable_http', url: recorder.url })
  const missing = await cli(['update', 'server', 'alphaa', '--session-mode', 'shared'])
  assert.equal(missing.code, 3)
  assert.match(missing.err, /did you mean "alpha"\?/)
  assert.equal((await cli(['update', 'server', 'alpha', '--session-mode', 'often'])).code, 2)
  for (const words of [[], ['-c', 'x.json', '--session-mode', 'shared']])
    assert.equal((await cli(['update', 'server', 'alpha', ...words])).code, 2)
  assert.equal((await cli(['update', 'server', '--session-mode', 'shared'])).code, 2)
  assert.equal((await gateway.get('/api/v0/servers/alpha')).body.session_mode, 'stateless')
})
