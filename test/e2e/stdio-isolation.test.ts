import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { chmod, chown, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { engines, freshPlace, addCleanup, tempDir } from '../store.ts'
import { actorAt, initialize, key, registerAs, skip } from './enterprise.ts'
import { root, startGateway, type Gateway, type GatewayOptions } from './harness.ts'
import { until } from '../until.ts'
import { descendants, isAlive } from './process-tree.ts'
import { needsRoot } from '../needs.ts'

const file = (name: string) => join(root, 'test/fixtures/stdio', name)
const stdio = (name: string, script: string, more: object = {}) => ({
  name,
  transport: 'stdio',
  command: process.execPath,
  args: [file(script)],
  ...more
})

const call = async (gateway: Gateway, name: string, args: object = {}): Promise<string> => {
  const answer = await gateway.post('/api/v0/tools/invoke', { name, ...args })
  assert.equal(answer.status, 200, answer.text)
  return (answer.body as { content: { text: string }[] }).content[0]!.text
}
const callJson = async <T>(gateway: Gateway, name: string, args: object = {}) =>
  JSON.parse(await call(gateway, name, args)) as T

test('SE-10 a server sees of the environment a few harmless names and what was declared for it', async (t) => {
  const secret = 'sentinel-of-the-database'
  const env = { LC_ALL: 'C', TOWPATH_ENCRYPTION_KEY: randomBytes(32).toString('base64'), OTHER_SECRET: secret }
  const gateway = await startGateway(t, { env })
  await gateway.register(
    stdio('other', 'good.mjs', { env: { OTHER_KEY: 'of another server' }, session_mode: 'stateful' })
  )
  await gateway.register(stdio('alpha', 'good.mjs', { env: { SETTING: 'for alpha' } }))
  const seen = await callJson<Record<string, string>>(gateway, 'alpha__env')
  const allowed = /^(HOME|PATH|SHELL|TERM|USER|LOGNAME|LANG|LC_\w+|SETTING|TOWPATH_STDIO_SESSION)$/
  assert.deepEqual(
    Object.keys(seen).filter((name) => !allowed.test(name)),
    []
  )
  assert.equal(seen.SETTING, 'for alpha')
})

test('SE-12 a server inherits its three pipes and no other descriptor of the gateway', async (t) => {
  const engine = engines.at(-1)!
  const gateway = await startGateway(t, { place: await freshPlace(t, engine) })
  await gateway.register(stdio('other', 'good.mjs', { session_mode: 'stateful' }))
  await call(gateway, 'other__pid')
  await gateway.register(stdio('alpha', 'good.mjs'))
  const links = Object.entries(await callJson<Record<string, string>>(gateway, 'alpha__fds'))
  // descriptors that Node opens for itself are neither sockets nor files
  const foreign = links.filter(([name, to]) => Number(name) > 2 && !/^(anon_inode|pipe|\/dev\/(null|urandom))/.test(to))
  assert.deepEqual(foreign, [])
  assert.deepEqual(
    links.filter(([, to]) => to.startsWith('socket:')).map(([name]) => name),
    ['0', '1', '2']
  )
})

test('SR-L8 CR-A9 descriptors that the gateway inherited do not go on to servers', async (t) => {
  // far apart: Node itself checks consecutive descriptors from 0
  const script = 'exec 9</etc/passwd 40>/dev/full 251</etc/passwd; exec "$@"'
  const gateway = await startGateway(t, { launcher: ['bash', '-c', script, 'bash'] })
  for (const session_mode of ['stateless', 'stateful']) {
    await gateway.register(stdio(session_mode, 'good.mjs', { session_mode }))
    const links = await callJson<Record<string, string>>(gateway, `${session_mode}__fds`)
    for (const inherited of ['9', '40', '251']) {
      assert.ok(!/passwd|full/.test(links[inherited] ?? ''), `${inherited}: ${links[inherited]}`)
    }
    assert.doesNotMatch(JSON.stringify(links), /passwd|full/)
  }
})

test(
  'SE-10 SE-12 LC-02 LC-17 in enterprise mode a server sees as little, leaves nothing, and a full disk for the log stops nothing',
  { skip },
  async (t) => {
    const token = 'administrator-of-this-test'
    const full = openSync('/dev/full', 'w')
    addCleanup(t, () => closeSync(full))
    const place = await freshPlace(t, 'postgres')
    const env = { ...key, TOWPATH_ADMIN_TOKEN: token, TOWPATH_SPARE_SESSIONS: '0', OTHER_SECRET: 'sentinel' }
    const gateway = await startGateway(t, { place, env, stdio: ['ignore', full, full] })
    const admin = actorAt(t, gateway.url, token)
    await registerAs(admin, stdio('alpha', 'good.mjs', { env: { API_KEY: 'for alpha' } }))
    const invoke = (name: string) => admin.post('/api/v0/tools/invoke', { name })
    const told = async (name: string) => ((await invoke(name)).body as { content: { text: string }[] }).content[0]!.text

    const seen = JSON.parse(await told('alpha__env')) as Record<string, string>
    const allowed = /^(HOME|PATH|SHELL|TERM|USER|LOGNAME|LANG|LC_\w+|API_KEY|TOWPATH_STDIO_SESSION)$/
    assert.deepEqual(
      Object.keys(seen).filter((name) => !allowed.test(name)),
      []
    )
    const links = Object.entries(JSON.parse(await told('alpha__fds')) as Record<string, string>)
    assert.deepEqual(
      links.filter(([, to]) => to.startsWith('socket:')).map(([name]) => name),
      ['0', '1', '2']
    )
    for (let round = 0; round < 3; round++) {
      const stop = new AbortController()
      const headers = { 'content-type': 'application/json', ...admin.headers }
      const body = JSON.stringify({ name: 'alpha__slow' })
      const left = fetch(`${gateway.url}/api/v0/tools/invoke`, { method: 'POST', headers, body, signal: stop.signal })
      await until('the call to have a process', () => descendants(gateway.pid).length > 0)
      stop.abort()
      await assert.rejects(left, { name: 'AbortError' })
      assert.equal((await gateway.get('/health')).status, 200)
      assert.equal((await gateway.get('/api/v0/servers')).status, 401, 'which is logged')
      assert.equal((await invoke('alpha__pid')).status, 200)
    }
    await until('every child to be gone', () => descendants(gateway.pid).length === 0)
  }
)

interface ProcessReport {
  readonly cmdline: unknown
  readonly environ: unknown
  readonly mem: unknown
  readonly fd: unknown
}

interface PryReport {
  readonly launcher: ProcessReport
  readonly gateway: ProcessReport
  readonly files: readonly unknown[]
  readonly status: string
}

const CHILD = 65_534
const GATEWAY = 54_321
const capabilities = '+setuid,+setgid,+kill,+setpcap'

/** The capabilities that the security page names, without root. */
const asUser = [
  'setpriv',
  `--reuid=${GATEWAY}`,
  `--regid=${GATEWAY}`,
  '--clear-groups',
  `--inh-caps=${capabilities}`,
  `--ambient-caps=${capabilities}`
]

/** Starts an enterprise gateway whose secrets come from files that its user can read. */
async function startWithSecretFiles(t: TestContext, launcher: readonly string[]) {
  const folder = await tempDir(t)
  const place = await freshPlace(t, engines.at(-1)!)
  const key = randomBytes(32).toString('base64')
  const password = `sentinel-${randomBytes(8).toString('hex')}`
  const secrets = [join(folder, 'key'), join(folder, 'database')] as const
  await writeFile(secrets[0], key, { mode: 0o600 })
  const env: NodeJS.ProcessEnv = {
    TOWPATH_ENCRYPTION_KEY_FILE: secrets[0],
    TOWPATH_STDIO_UID: String(CHILD),
    SERVER_MODE: 'enterprise'
  }
  const url = new URL(place.databaseUrl ?? 'postgres://none')
  url.password = password
  await writeFile(secrets[1], url.href, { mode: 0o600 })
  if (place.databaseUrl) env.DATABASE_URL_FILE = secrets[1]
  if (launcher.length > 0) {
    const owned = await readdir(place.dataDir, { recursive: true })
    const paths = [...secrets, folder, place.dataDir, ...owned.map((name) => join(place.dataDir, name))]
    for (const path of paths) await chown(path, GATEWAY, GATEWAY)
    env.TMPDIR = folder
    // the child's own folder is created there
    await chmod(folder, 0o711)
  }
  const options: GatewayOptions = { place: { dataDir: place.dataDir }, env, launcher }
  const started = await startGateway(t, options)
  const admin = actorAt(t, started.url, await initialize(started))
  const { get, post, remove } = admin
  const gateway: Gateway = { ...started, get, post, remove, register: (server) => registerAs(admin, server) }
  return { gateway, folder, secrets, sentinels: [key, password] }
}

for (const [who, launcher] of [
  ['root', []],
  ['a user with four capabilities', asUser]
] as const) {
  const title = `SE-11 a server of a second user reads nothing of a gateway that runs as ${who}`
  test(title, { skip: needsRoot }, async (t) => {
    const { gateway, secrets, sentinels } = await startWithSecretFiles(t, launcher)
    const args = ['--env-of-other', 'beta']
    await gateway.register(stdio('beta', 'good.mjs', { session_mode: 'stateful', args: [file('good.mjs'), ...args] }))
    await call(gateway, 'beta__pid')
    await gateway.register(stdio('alpha', 'prying.mjs'))
    const text = await call(gateway, 'alpha__pry', { files: secrets })
    for (const sentinel of sentinels) assert.equal(text.includes(sentinel), false)

    const { launcher: starter, gateway: read, files, status } = JSON.parse(text) as PryReport
    for (const { environ, mem, fd } of [starter, read])
      assert.deepEqual([environ, mem, fd], Array(3).fill({ code: 'EACCES' }))
    assert.equal(String(read.cmdline).replace(/\0+$/, ''), 'towpath')
    assert.deepEqual(files, Array(2).fill({ code: 'EACCES' }))
    const line = (name: string) => new RegExp(`^${name}:[^\\S\\n]*(.*)$`, 'm').exec(status)![1]!.trim()
    assert.deepEqual([line('Uid'), line('Gid')], Array(2).fill(Array(4).fill(CHILD).join('\t')))
    assert.equal(line('NoNewPrivs'), '1')
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) assert.match(line(set), /^0+$/, set)
    assert.match(line('Groups'), /^(65534)?$/)
  })

  const ending = `LC-01 a gateway that runs as ${who} ends stubborn processes of a second user`
  test(ending, { skip: needsRoot }, async (t) => {
    const { gateway } = await startWithSecretFiles(t, launcher)
    await gateway.register(stdio('stubborn', 'stubborn.mjs', { session_mode: 'stateful' }))
    const pid = Number(await call(gateway, 'stubborn__pid'))
    assert.ok(isAlive(pid))
    assert.equal((await gateway.remove('/api/v0/servers/stubborn')).status, 204)
    await until('its end', () => !isAlive(pid) && descendants(gateway.pid).length === 0)
  })
}

test('LC-04 the processes of a second user do not outlive a killed gateway', { skip: needsRoot }, async (t) => {
  const { gateway } = await startWithSecretFiles(t, asUser)
  await gateway.register(stdio('stubborn', 'stubborn.mjs', { session_mode: 'stateful' }))
  const pid = Number(await call(gateway, 'stubborn__pid'))
  addCleanup(t, () => isAlive(pid) && process.kill(pid, 'SIGKILL'))
  await gateway.stop('SIGKILL')
  await until('its end', () => !isAlive(pid))
})

test("SE-11 neither arguments nor environment of the gateway's own start are in its command line", async (t) => {
  const gateway = await startGateway(t, { args: ['--log-level', 'warn'] })
  await gateway.register(stdio('alpha', 'prying.mjs'))
  const { gateway: read, launcher } = await callJson<PryReport>(gateway, 'alpha__pry')
  assert.equal(String(read.cmdline).replace(/\0+$/, ''), 'towpath')
  assert.match(String(launcher.environ), /^(NODE_CHANNEL_[^\0]*\0)*$/)
})
