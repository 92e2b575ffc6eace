import assert from 'node:assert/strict'
import { chmod, chown, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type { Config } from '../../src/config/config.ts'
import { checkSecretFiles } from '../../src/secret-files.ts'
import { cleanEnv, root, run, startGateway, towpathCommand, type ManagedProcess } from '../e2e/harness.ts'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { freshPlace, tempDir } from '../store.ts'
import { needsRoot } from '../needs.ts'

const start = (t: TestContext, args: readonly string[], env: NodeJS.ProcessEnv = {}): ManagedProcess =>
  run(t, process.execPath, [...towpathCommand(), ...args], { cwd: root, env: { ...cleanEnv(), ...env } })

const refusals: readonly [args: readonly string[], env: NodeJS.ProcessEnv, text: string][] = [
  [['start'], { SERVER_MODE: 'prod' }, 'towpath: SERVER_MODE must be one of development, enterprise, not "prod"'],
  [
    ['start', '--enterprise'],
    { DATABASE_URL: 'postgres://127.0.0.1:1/none' },
    'towpath: TOWPATH_ENCRYPTION_KEY, or TOWPATH_ENCRYPTION_KEY_FILE, is required in enterprise mode with PostgreSQL: ' +
      '32 random bytes as base64, the same for every replica (create one with "openssl rand -base64 32")'
  ],
  [
    ['start', '--prod'],
    { DATABASE_URL: 'postgres://127.0.0.1:1/none' },
    'towpath: TOWPATH_ENCRYPTION_KEY, or TOWPATH_ENCRYPTION_KEY_FILE, is required in enterprise mode with PostgreSQL: ' +
      '32 random bytes as base64, the same for every replica (create one with "openssl rand -base64 32")'
  ],
  [['start', '--port', 'x'], {}, 'towpath: --port must be a whole number from 0 to 65535, not "x"'],
  [['start', '--nonsense'], {}, "error: unknown option '--nonsense'\nhint: see `towpath start --help`"],
  [['nonsense'], {}, "error: unknown command 'nonsense'\nhint: see `towpath --help`"],
  [
    ['start'],
    { TOWPATH_STDIO_CWD: '/no/such' },
    'towpath: cannot start: TOWPATH_STDIO_CWD is not a folder: "/no/such"'
  ],
  [
    ['start', '--data-dir', process.execPath],
    {},
    `towpath: cannot start: the data directory ${process.execPath} cannot be used: ${process.execPath} is not a folder`
  ]
]
test('a start that is asked for wrongly ends with 2 and says why', async (t) => {
  for (const [args, env, text] of refusals) {
    const process = start(t, args, env)
    assert.equal(await process.exited, 2, text)
    assert.equal(process.output().replace(/^Towpath \S+ is starting\n/, ''), `${text}\n`)
  }
})

test('a start that the machine refuses ends with one line that says why', async (t) => {
  const first = await startGateway(t, { place: await freshPlace(t, 'pglite') })
  const { dataDir } = await freshPlace(t, 'pglite')
  const taken = start(t, ['start', '--port', String(first.port), '--data-dir', dataDir])
  assert.equal(await taken.exited, 1)
  const line = `towpath: cannot start: port ${first.port} on 127.0.0.1 is in use by another process`
  assert.deepEqual(taken.output().split('\n').slice(1), [line, ''])

  const locked = start(t, ['start', '--port', '0', '--data-dir', first.place.dataDir])
  assert.notEqual(await locked.exited, 0)
  assert.match(locked.output(), /^towpath: cannot start: data directory .* is in use by process \d+ on .*$/m)
})

test('the start tells where everything is; a debugger cannot be opened by a signal; SIGTERM ends it with 0', async (t) => {
  const gateway = await startGateway(t, { place: await freshPlace(t, 'pglite') })
  await until('the banner', () => gateway.output().includes('  Store '))
  for (const text of [
    `listens on ${gateway.url} (development mode)`,
    `Dashboard     ${gateway.url}\n`,
    `MCP endpoint  ${gateway.url}/mcp`,
    'Next          towpath setup',
    `described at ${gateway.url}/docs`,
    `embedded, in ${gateway.place.dataDir}`
  ]) {
    assert.ok(gateway.output().includes(text), gateway.output())
  }
  assert.doesNotMatch(gateway.output(), /without authentication/)
  gateway.child.kill('SIGUSR1')
  assert.equal((await gateway.get('/health')).status, 200)
  assert.doesNotMatch(gateway.output(), /Debugger listening/)
  assert.equal(await gateway.stop('SIGTERM'), 0)
})

test('a first start says at once that it starts and what it makes, and logs nothing before the banner', async (t) => {
  const dataDir = join(await tempDir(t), 'data')
  const process = start(t, ['start', '--port', '0', '--data-dir', dataDir])
  await until('the banner', () => process.output().includes('embedded, in'))
  const [first, second, third] = process.output().split('\n')
  assert.match(first!, /^Towpath \S+ is starting$/)
  assert.equal(second, `creating the embedded store in ${dataDir}; this takes some seconds, once`)
  assert.match(third!, /^Towpath \S+ listens on /)
  assert.doesNotMatch(process.output(), /^\{/m)
})

test('output that goes to a log collector consists of JSON lines only, in development mode of text only', async (t) => {
  const env = { TOWPATH_ADMIN_TOKEN: 'start-admin-token-0123456789' }
  const isJson = (line: string) => line.startsWith('{"level":')
  for (const args of [[], ['--enterprise']]) {
    const isEnterprise = args.length > 0
    const gateway = await startGateway(t, { args, place: await freshPlace(t, 'pglite'), ...(isEnterprise && { env }) })
    await until('the banner', () => gateway.output().includes('  Store '))
    assert.equal(await gateway.stop('SIGTERM'), 0)
    const lines = gateway.output().trimEnd().split('\n')
    assert.match(gateway.output(), /stopping/)
    assert.deepEqual(
      lines.filter((line) => isJson(line) !== isEnterprise),
      []
    )
  }
})

test('the start of an enterprise gateway names the console, and where the token of its administrator is', async (t) => {
  const file = join(await tempDir(t), 'admin_token')
  await writeFile(file, 'start-admin-token-0123456789', { mode: 0o600 })
  const url = 'http://127.0.0.1:8080'
  const settings = { TOWPATH_PUBLIC_URL: url, TOWPATH_AUTH: 'embedded', TOWPATH_CONSOLE: 'on' }
  for (const [variable, value, place] of [
    ['TOWPATH_ADMIN_TOKEN_FILE', file, file],
    ['TOWPATH_ADMIN_TOKEN', 'start-admin-token-0123456789', 'TOWPATH_ADMIN_TOKEN']
  ] as const) {
    const env = { ...settings, [variable]: value }
    const gateway = await startGateway(t, { args: ['--enterprise'], place: await freshPlace(t, 'pglite'), env })
    await until('the banner', () => gateway.output().includes('  Store '))
    assert.ok(gateway.output().includes(`Console       ${url}/console/`), gateway.output())
    assert.ok(gateway.output().includes(`(sign in with the access token in ${place})`), gateway.output())
    assert.equal(await gateway.stop('SIGTERM'), 0)
  }
})

test('DA-12 a bind beyond loopback is possible and warned of', async (t) => {
  const gateway = await startGateway(t, { env: { HOST: '0.0.0.0' } })
  await until('the banner', () => gateway.output().includes('  Store '))
  assert.match(gateway.output(), /warning: listening on 0\.0\.0\.0 without authentication/)
  assert.equal((await gateway.get('/health')).status, 200)
})

test('a second signal ends it at once, whatever is under way', async (t) => {
  const gateway = await startGateway(t, { env: { TOWPATH_DRAIN_TIMEOUT_MS: '3600000' } })
  const socket = connect(gateway.port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.write(
    'POST /api/v0/tools/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{'
  )
  await until('the request', async () => (await gateway.get('/health')).status === 200)
  gateway.child.kill('SIGTERM')
  await until('stopping', () => gateway.output().includes('waiting for requests in progress'))
  assert.equal(await gateway.stop('SIGINT'), 1)
})

test('an enterprise gateway whose database is not there yet listens, and is not ready', async (t) => {
  const port = await freePort()
  const env = {
    DATABASE_URL: `postgres://127.0.0.1:${await freePort()}/none`,
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64')
  }
  const process = start(t, ['start', '--enterprise', '--port', String(port)], env)
  await until('the banner', () => process.output().includes('  Store '))
  assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200)
  assert.equal((await fetch(`http://127.0.0.1:${port}/ready`)).status, 503)
  assert.doesNotMatch(process.output(), /unexpected fault/)
})

test('a free port is asked for with 0 and told', async (t) => {
  const { dataDir } = await freshPlace(t, 'pglite')
  const process = start(t, ['start', '--port', '0', '--data-dir', dataDir, '--log-level', 'silent'])
  await until('the banner', () => process.output().includes('  Store '))
  const url = /listens on (\S+)/.exec(process.output())![1]!
  assert.equal((await fetch(`${url}/ready`)).status, 200)
})

test(
  'SR-M9 a start is refused where the user of stdio servers can read a secret file, however it comes to that',
  { skip: needsRoot },
  async (t) => {
    const folder = await tempDir(t)
    const path = join(folder, 'token')
    await writeFile(path, 'administrator-0123456789')
    const [uid, gid] = [10_001, 10_002]
    const environment = { TOWPATH_ADMIN_TOKEN_FILE: path }
    const stdio = { enabled: true, uid, gid, environment } as unknown as Config['stdio']
    const check = (changes: object = {}) => checkSecretFiles({ stdio: { ...stdio, ...changes } })
    /** [mode of the folder, mode of the file, its user, its group, true if servers can read it] */
    const cases = [
      [0o711, 0o644, 0, 0, true],
      [0o711, 0o640, 0, gid, true],
      [0o711, 0o604, 0, 0, true],
      [0o711, 0o400, uid, 0, true],
      [0o711, 0o000, uid, 0, true],
      [0o711, 0o640, 0, 0, false],
      [0o711, 0o604, 0, gid, false],
      [0o711, 0o400, 0, 0, false],
      [0o700, 0o644, 0, 0, false]
    ] as const
    for (const [folderMode, mode, user, group, isOpen] of cases) {
      await chmod(folder, folderMode)
      await chown(path, user, group)
      await chmod(path, mode)
      const what = `${folderMode.toString(8)} ${mode.toString(8)} ${user}:${group}`
      if (isOpen) assert.throws(() => check(), /can read .*token \(TOWPATH_ADMIN_TOKEN_FILE\)/, what)
      else assert.doesNotThrow(() => check(), what)
      assert.doesNotThrow(() => check({ enabled: false }), `${what}, no stdio servers`)
      assert.doesNotThrow(() => check({ uid: undefined }), `${what}, no user of their own`)
    }

    await chmod(folder, 0o711)
    await chmod(path, 0o644)
    const started = start(t, ['start', '--enterprise', '--data-dir', folder], {
      ...environment,
      TOWPATH_STDIO_UID: String(uid)
    })
    assert.equal(await started.exited, 2, started.output())
    assert.match(started.output(), /cannot start: stdio servers run as user 10001 \(TOWPATH_STDIO_UID\) and can read /)
  }
)
