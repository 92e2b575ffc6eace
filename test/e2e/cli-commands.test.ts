import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { CallEntry } from '../../src/schemas/call.ts'
import type { Check } from '../../src/schemas/check.ts'
import { startAuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { startProtected } from '../fixtures/oauth/protected.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { sendJson, startHttp } from '../fixtures/http/server.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { commandLine, type CommandLine } from './cli.ts'
import { skip, startEmpty } from './enterprise.ts'
import { runLines } from './every-command.ts'
import { binFolder, personAtTerminal } from './person.ts'
import { noTerminal } from './terminal.ts'
import { twoSkills } from '../fixtures/skills/files.ts'
import { startSkillServer } from '../fixtures/skills/official.ts'
import { startGateway, type Gateway } from './harness.ts'

interface Setup {
  readonly gateway: Gateway
  readonly cli: CommandLine
  /** URL of an upstream that can be registered. */
  readonly url: string
  /** URL of a server with a skill. */
  readonly skillsUrl: string
}

async function setUp(t: TestContext, gateway: Gateway): Promise<Setup> {
  const recorder = await startRecorder(null, { name: 'alpha' })
  addCleanup(t, recorder.close)
  const skills = await startSkillServer('guide', twoSkills('guide'))
  addCleanup(t, skills.close)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  return { gateway, cli, url: recorder.url, skillsUrl: skills.url }
}

const checksOf = async (cli: CommandLine, code: number, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) => {
  const ended = await cli(['doctor', '--json', ...args], { env })
  assert.equal(ended.code, code, ended.out)
  return new Map<string, Check>(ended.json.checks.map((check: Check) => [check.id, check]))
}

test('development mode', async (t) => {
  const setup = await setUp(t, await startGateway(t))
  const { gateway, cli, url, skillsUrl } = setup
  await t.test('every command has the exit code and the JSON that it should', async () => {
    await runLines({ cli, mode: 'development', registry: gateway.url, url, skillsUrl })
  })
  await gateway.register({ name: 'alpha', transport: 'streamable_http', url })
  await t.test('logs tell calls, the newest last, and go on with those that come', () => testFollowingLogs(setup))
  await t.test('doctor tells what Diagnostics tells, and what is wrong on this side', () => testDoctor(setup))
  await t.test('bash completes commands, options and the names of the gateway', () => testBashCompletion(setup))
  await t.test('names are asked for once in five seconds, and kept from others', () => testCachedNames(setup))
  await t.test('register signs in at an upstream that needs it', () => testSignInDuringRegister(t, setup))
})

test('enterprise mode', { skip }, async (t) => {
  const { gateway, cli, url, skillsUrl } = await setUp(t, await startEmpty(t))
  let token = ''
  await t.test('every command has the exit code and the JSON that it should', async () => {
    token = await runLines({ cli, mode: 'enterprise', registry: gateway.url, url, skillsUrl })
  })
  await t.test('doctor ends with 4 where the token is not taken', async () => {
    assert.equal((await checksOf(cli, 4)).get('token')!.status, 'fail')
    assert.equal((await checksOf(cli, 4, [], { TOWPATH_TOKEN: 'w'.repeat(20) })).get('token')!.status, 'fail')
  })
  await t.test('a person at a terminal', { skip: noTerminal }, () => personAtTerminal(t, { gateway, cli, url, token }))
})

test('a gateway of another version or time is told of, where it may matter and once', async (t) => {
  const other = await startHttp(({ path }, response) => {
    response.setHeader('date', new Date(Date.now() - 60_000).toUTCString())
    if (path === '/metadata') return sendJson(response, 200, { version: '9.9.0' })
    if (path === '/api/v0/tools') return sendJson(response, 400, { error: 'unknown member' })
    sendJson(response, 200, [])
  })
  addCleanup(t, other.close)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: other.origin })
  const warning = /warning: this command has version \S+, the gateway has 9\.9\.0\nhint: use a command of/g
  const warnings = async (...args: string[]) => ((await cli(args)).err.match(warning) ?? []).length
  assert.equal(await warnings('version'), 1)
  assert.equal(await warnings('list', 'tools'), 1)
  assert.equal(await warnings('list', 'servers'), 0)
  const checks = (await cli(['doctor', '--json'])).json.checks as Check[]
  assert.equal(checks.find(({ id }) => id === 'version')!.status, 'warn')
  const clock = checks.find(({ id }) => id === 'client_clock')!
  assert.equal(clock.status, 'warn')
  assert.match(clock.title, /are (59|6\d) s apart/)
})

test('each shell has a script that asks the hidden command', async (t) => {
  const cli = await commandLine(t)
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await cli(['completion', shell])
    assert.equal(code, 0)
    assert.ok(out.includes(`__complete ${shell} -- `), out)
  }
  assert.equal((await cli(['completion', 'tcsh'])).code, 2)
})

async function testFollowingLogs({ gateway, cli }: Setup): Promise<void> {
  const invoke = (name: string) => gateway.post('/api/v0/tools/invoke', { name })
  const listed = async (...args: string[]): Promise<CallEntry[]> =>
    (await cli(['logs', '--server', 'alpha', '--json', ...args])).json.calls
  const before = (await listed()).length
  await invoke('alpha__echo')
  await invoke('alpha__fail')
  await until('both calls to be kept', async () => (await listed()).length === before + 2)
  const failed = await listed('--failed')
  assert.ok(failed.every(({ outcome }) => outcome === 'tool_error'))
  const table = (await cli(['logs', '--limit', '2'])).out
  assert.match(
    table,
    /^AT +OUTCOME +MS +CALLER +ITEM +ERROR\n.* ok .* alpha__echo\n.* tool_error .* alpha__fail +"failed"\n$/
  )
  assert.equal((await listed('--since', '1d')).length, before + 2)
  assert.deepEqual(await listed('--since', '2999-01-01'), [])
  assert.equal((await cli(['logs', '--since', 'yesterday'])).code, 2)
  assert.match((await cli(['logs', '--limit', '1'])).err, /older calls exist/)
  assert.equal((await cli(['logs', '--limit', 'x'])).code, 2)
  assert.equal((await cli(['logs', '-f', '-o', 'yaml'])).code, 2)

  const reader = new AbortController()
  let seen = ''
  const following = cli(['logs', '-f', '--limit', '1', '--tool', 'alpha__echo', '-o', 'json'], {
    stdoutClosed: reader.signal,
    onOut: (text) => (seen += text)
  })
  const lines = () => seen.split('\n').filter((line) => line !== '')
  await until('the call that was there', () => lines().length === 1)
  await invoke('alpha__fail')
  await invoke('alpha__echo')
  await invoke('alpha__echo')
  await until('the calls that came', () => lines().length === 3)
  reader.abort()
  assert.equal((await following).code, 0)
  const ids = lines().map((line) => Number((JSON.parse(line) as CallEntry).id))
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b)
  )
}

async function testDoctor({ gateway, cli, url }: Setup): Promise<void> {
  const own = ['config_file', 'token_source', 'registry', 'version', 'client_clock', 'ready']
  const told = (await gateway.get('/api/dashboard/diagnostics')).body.checks as Check[]
  const healthy = await checksOf(cli, 0)
  assert.deepEqual([...healthy.keys()], [...own, ...told.map(({ id }) => id)])
  assert.ok([...healthy.values()].every(({ status }) => status !== 'fail'))

  const path = join(cli.home, '.towpath.conf')
  await writeFile(path, 'other: 1\n')
  await chmod(path, 0o640)
  const open = await cli(['doctor'])
  assert.equal(open.code, 1)
  assert.match(open.out, /^STATUS +CHECK +FINDING\nFAIL +config_file +.* is accessible to other users \(mode 0640/)
  assert.match(open.err, /hint: config_file: chmod 600 .*\n(.*\n)*\d+ of \d+ checks passed, 1 failed.*\n$/)
  await chmod(path, 0o600)
  assert.equal((await checksOf(cli, 0)).get('config_file')!.status, 'pass')

  const gone = await checksOf(cli, 6, ['--registry', 'http://127.0.0.1:9'])
  assert.deepEqual([...gone.keys()], ['config_file', 'token_source', 'registry'])
  // the server that answers there is not a gateway
  assert.equal((await checksOf(cli, 1, ['--registry', new URL(url).origin])).get('registry')!.status, 'fail')
}

/** A press of the Tab key in bash: calls the function registered with `complete`. */
const press = `
complete -p towpath >&2
answer() {
  COMP_LINE="$1" COMP_POINT=\${#1}
  COMP_WORDS=("\${@:2}") COMP_CWORD=$(($# - 2))
  _towpath
  printf '%s,' "\${COMPREPLY[@]}"; echo
}`

async function testBashCompletion({ gateway, cli }: Setup): Promise<void> {
  const uri = (await cli(['list', 'resources', '-o', 'name'])).out.trim()
  const [scheme = ''] = uri.split(':')
  const begun = uri.slice(0, scheme.length + 2)
  const script = join(cli.home, 'complete.bash')
  await writeFile(
    script,
    `source <(towpath completion bash)${press}
answer 'towpath regi' towpath regi
answer 'towpath read ${begun}' towpath read ${scheme} : '${begun.slice(scheme.length + 1)}'
answer 'towpath --registry ${gateway.url} invoke alpha__e' towpath --registry http : '//x' invoke alpha__e
`
  )
  const env = {
    PATH: `${await binFolder(cli.home)}:${process.env.PATH}`,
    HOME: cli.home,
    TOWPATH_REGISTRY: gateway.url
  }
  await promisify(execFile)('bash', ['-n', script])
  const { stdout, stderr } = await promisify(execFile)('bash', [script], { env })
  assert.match(stderr, /^complete -F _towpath towpath\n/)
  assert.deepEqual(stdout.split('\n'), ['register,', `${uri.slice(scheme.length + 1)},`, 'alpha__echo,', ''])
}

async function testCachedNames({ gateway, cli, url }: Setup): Promise<void> {
  const folder = join(cli.home, 'cache')
  const ask = async (...words: string[]) =>
    (await cli(['__complete', 'fish', '--', ...words], { env: { XDG_CACHE_HOME: folder } })).out.split('\n')
  assert.deepEqual(await ask('get', 'server', ''), ['alpha', ''])
  await gateway.register({ name: 'gamma', transport: 'streamable_http', url })
  assert.deepEqual(await ask('get', 'server', ''), ['alpha', ''], 'as it was asked a moment ago')
  const kept = join(folder, 'towpath')
  const [file = '', ...others] = await readdir(kept)
  assert.deepEqual(others, [])
  assert.deepEqual(JSON.parse(await readFile(join(kept, file), 'utf8')), ['alpha'])
  assert.equal((await stat(join(kept, file))).mode & 0o777, 0o600)
  assert.deepEqual((await ask('enable', 'tool', 'gamma__f')).filter(Boolean), ['gamma__fail'])
  assert.deepEqual(await ask('get', 'server', '--registry', 'http://127.0.0.1:9', ''), [''])
  await gateway.remove('/api/v0/servers/gamma')
}

async function testSignInDuringRegister(t: TestContext, { cli }: Setup): Promise<void> {
  const as = await startAuthorizationServer(null, { iss: true })
  addCleanup(t, as.close)
  const upstream = await startProtected(null, as)
  addCleanup(t, upstream.close)
  // a browser whose user consents: it follows the redirect to the command line
  const browser = join(cli.home, 'browser.mjs')
  await writeFile(browser, 'await fetch(process.argv[2])\n')
  const env = { BROWSER: `${process.execPath} ${browser} %s`, PATH: process.env.PATH }
  const register = ['register', 'guarded', '--url', upstream.url, '--json']
  const done = await cli(register, { env })
  assert.equal(done.code, 0, done.err)
  assert.equal(done.json.name, 'guarded')
  assert.match(
    done.err,
    /^opening a browser to sign in; if it does not open, visit:\n {2}http:\/\/127\.0\.0\.1:\d+\/authorize\?/
  )
  assert.equal((await cli(['invoke', 'guarded__echo'])).code, 0)

  let told = ''
  const waiting = cli([...register, '--force', '--no-browser', '-q'], { env, onErr: (text) => (told += text) })
  const page = (await until('the URL', () => /sign in here:\n {2}(\S+)\n/.exec(told)?.[1]))!
  const back = new URL(new URL(page).searchParams.get('redirect_uri')!)
  const visit = async (query: Record<string, string>, path = back.pathname) => {
    const answer = await fetch(new URL(`${path}?${new URLSearchParams(query).toString()}`, back))
    assert.match(answer.headers.get('content-security-policy')!, /default-src 'none'/)
    return answer.status
  }
  assert.equal(back.hostname, '127.0.0.1')
  assert.equal(await visit({ code: 'x', state: 'another' }), 400)
  assert.equal(await visit({ code: 'x' }), 400)
  assert.equal(await visit({}, '/'), 404)
  const state = new URL(page).searchParams.get('state')!
  assert.equal(await visit({ error: 'access_denied', error_description: '<b>no</b>\u001b[2J', state }), 200)
  const refused = await waiting
  assert.equal(refused.code, 1)
  assert.equal(JSON.parse(refused.err.slice(refused.err.indexOf('{'))).code, 'sign_in_refused')
  assert.ok(!refused.err.includes('\u001b'))
  await assert.rejects(fetch(back), 'nobody listens any more')
  assert.equal((await cli(['invoke', 'guarded__echo'])).code, 0, 'the server stays as it was')
}
