import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Payload } from '../../src/json/payload.ts'
import { Call, silentSink } from '../../src/upstream/transport/call.ts'
import type { Sink } from '../../src/upstream/transport/call.ts'
import type { OpenOptions } from '../../src/upstream/transport/connection.ts'
import { administrators, messageOf, UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import type { FailureReason } from '../../src/protocol/upstream-failure.ts'
import { createChildRegistry } from '../../src/upstream/stdio/child-registry.ts'
import type { Log } from '../../src/upstream/stdio/process.ts'
import { withIdentity } from '../../src/upstream/stdio/command.ts'
import { createStderrTail } from '../../src/upstream/stdio/stderr.ts'
import { createWatchdog } from '../../src/upstream/stdio/watchdog.ts'
import { createBreaker } from '../../src/upstream/sessions/breaker.ts'
import { createConnector } from '../../src/upstream/sessions/connector.ts'
import { ConnectTimings } from '../../src/observe/connect-timings.ts'
import { createStdioClient } from '../../src/upstream/stdio/stdio-client.ts'
import type { StdioConnection, StdioOptions } from '../../src/upstream/stdio/stdio-client.ts'
import { until } from '../until.ts'
import { needsRoot } from '../needs.ts'

const fixtures = new URL('../fixtures/stdio/', import.meta.url).pathname
const gatewayEnv = { ...process.env, LC_TEST: 'C', DATABASE_URL: 'postgres://secret@db', TOWPATH_ENCRYPTION_KEY: 'key' }

interface LogLine {
  readonly line: string
  readonly message: string
}

/** Creates the shared parts of a gateway; all its processes must have ended when the test is over. */
const startGateway = (t: TestContext) => {
  const children = createChildRegistry(createWatchdog)
  const logged: LogLine[] = []
  const lives: Record<string, unknown>[] = []
  const log: Log = {
    debug: (fields, message) => void lives.push({ ...fields, message }),
    info: (fields, message) => void lives.push({ ...fields, message }),
    warn: (fields, message) => void logged.push({ ...(fields as { line: string }), message })
  }
  const base = {
    server: 'x',
    version: '1.0.0',
    gatewayEnv,
    cwd: undefined,
    uid: undefined,
    gid: undefined,
    log,
    children
  }
  t.after(() => children.closeAll())
  const client = (file: string, options: Partial<StdioOptions> = {}) => {
    const [command, args] = file.endsWith('.sh') ? ['/bin/sh', [fixtures + file]] : ['node', [fixtures + file]]
    const limits = { maxLineBytes: 1024 * 1024 }
    return createStdioClient({ ...base, command, args, env: {}, limits, tail: createStderrTail(), ...options })
  }
  return { children, client, logged, lives }
}

const legacy = (ms = 60_000): OpenOptions => ({ era: 'legacy', capabilities: '{}', deadline: performance.now() + ms })
const modern = (ms = 60_000): OpenOptions => ({ ...legacy(ms), era: 'modern' })

const startCall = (name: string, args: object = {}, sink: Sink = silentSink) => {
  const members = `"name":${JSON.stringify(name)},"arguments":${JSON.stringify(args)}`
  return new Call({ method: 'tools/call', members, meta: '' }, sink)
}

/** Returns the text of a tool's result. */
const callTool = async (connection: StdioConnection, name: string, args: object = {}, sink?: Sink) => {
  const { body } = await connection.send(startCall(name, args, sink))
  return (JSON.parse(body.toString()) as { content: { text: string }[] }).content[0]!.text
}
const readJson = async (connection: StdioConnection, name: string, args: object = {}) =>
  JSON.parse(await callTool(connection, name, args)) as Record<string, unknown>

const failsWith = (reason: FailureReason, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof UpstreamFailure)
  assert.match(messageOf(error, administrators), message)
  assert.equal(error.reason, reason)
  return true
}

/** Zombies count as dead: init on this machine reaps orphans late. */
const isAlive = (pid: number) => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}
const isListed = (pid: number) => existsSync(`/proc/${pid}`)

const temporaryFile = (t: TestContext) => {
  const folder = mkdtempSync(join(tmpdir(), 'stdio-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'file')
}
const readLines = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [])
const readPids = (file: string) => readLines(file).map(Number)

test('opens a legacy server, tells who it is and calls its tools', async (t) => {
  const { client } = startGateway(t)
  const connection = await client('good.mjs').open(legacy())
  assert.deepEqual(connection.greeting, {
    version: '2025-11-25',
    capabilities: { tools: { listChanged: true }, logging: {} },
    serverInfo: { name: 'good', version: '1.0.0' },
    instructions: 'Instructions of good.'
  })
  assert.equal(await callTool(connection, 'echo', { text: 'hé\n😀' }), 'hé\n😀')
  assert.equal(await callTool(connection, 'pid'), String(connection.pid))
})

test('declares the capabilities that it was given', async (t) => {
  const { client } = startGateway(t)
  const connection = await client('good.mjs').open({ ...legacy(), capabilities: '{"roots":{"listChanged":true}}' })
  assert.deepEqual(await readJson(connection, 'capabilities'), { roots: { listChanged: true } })
})

test('accepts an older legacy revision back, and nothing unknown', async (t) => {
  const { client } = startGateway(t)
  const older = await client('good.mjs', { env: { PROTOCOL_VERSION: '2024-11-05' } }).open(legacy())
  assert.equal(older.greeting.version, '2024-11-05')
  const unknown = client('good.mjs', { env: { PROTOCOL_VERSION: '1999-01-01' } }).open(legacy())
  await assert.rejects(unknown, failsWith('bad_response', /unknown protocol version \(1999-01-01\)/))
})

test('opens a modern server by server/discover and sends each caller in the envelope', async (t) => {
  const { client } = startGateway(t)
  const connection = await client('good.mjs', { env: { ERAS: 'modern' } }).open(modern())
  assert.equal(connection.greeting.version, '2026-07-28')
  assert.deepEqual(connection.greeting.serverInfo, { name: 'good', version: '1.0.0' })
  const { body } = await connection.send(startCall('meta', {}, { ...silentSink, capabilities: '{"sampling":{}}' }))
  const { content } = JSON.parse(body.toString()) as { content: { text: string }[] }
  assert.deepEqual(JSON.parse(content[0]!.text), {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'towpath', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { sampling: {} }
  })
})

test('a legacy server that is probed as modern is a bad response, or a crash, or silent until the deadline', async (t) => {
  const { client } = startGateway(t)
  await assert.rejects(client('good.mjs').open(modern()), failsWith('bad_response', /refused server\/discover/))
  await assert.rejects(client('strict.mjs').open(modern()), failsWith('crashed', /exited with code 1/))
  const silent = client('deaf.mjs', { env: { DEAF: 'all' } })
  await assert.rejects(silent.open(modern(1_000)), failsWith('timeout', /no answer to server\/discover/))
})

test('answers of many calls at a time find their way', async (t) => {
  const { client } = startGateway(t)
  const connection = await client('good.mjs').open(legacy())
  const texts = Array.from({ length: 200 }, (_, i) => `text ${i}`)
  assert.deepEqual(await Promise.all(texts.map((text) => callTool(connection, 'echo', { text }))), texts)
})

test('progress, log messages, requests and list changes come through a real pipe', async (t) => {
  const { client } = startGateway(t)
  const connection = await client('good.mjs').open(legacy())
  const seen: string[] = []
  const changes: string[] = []
  connection.onNotification = (method) => changes.push(method)
  const sink: Sink = {
    ...silentSink,
    wantsProgress: true,
    notify: (method, params) => seen.push(`${method} ${params}`),
    request: async (method) => ({ kind: 'result', body: Payload.of(`{"you asked":"${method}"}`) })
  }
  await callTool(connection, 'slow', { ms: 30, steps: 1 }, sink)
  await callTool(connection, 'log', {}, sink)
  await callTool(connection, 'changed', {}, sink)
  const answer = await callTool(connection, 'ask', { method: 'sampling/createMessage', params: {} }, sink)
  assert.deepEqual(seen, [
    'notifications/progress {"progress":1,"total":1,"message":"step 1 ✓"}',
    'notifications/message {"level":"info","data":"hello"}'
  ])
  assert.deepEqual(changes, ['notifications/tools/list_changed'])
  assert.match(answer, /"result":\{"you asked":"sampling\/createMessage"\}/)
})

test('a stopped call is cancelled in the server and ends neither another call nor the process', async (t) => {
  const { client } = startGateway(t)
  const file = temporaryFile(t)
  const connection = await client('good.mjs', { env: { CANCEL_FILE: file } }).open(legacy())
  const call = startCall('slow')
  const stopped = connection.send(call)
  const other = callTool(connection, 'slow', { ms: 100 })
  call.stop(new UpstreamFailure('cancelled', 'the caller left'))
  await assert.rejects(stopped, failsWith('cancelled', /the caller left/))
  assert.equal(await other, 'done')
  await until('the cancellation', () => readLines(file).length === 1)
  assert.deepEqual(JSON.parse(readLines(file)[0]!), { requestId: 2, reason: 'the caller left' })
  assert.equal(connection.closed, false)
})

test('SE-10 a child sees the seven names, LC_* and what was declared, nothing else of the gateway', async (t) => {
  const { client } = startGateway(t)
  const connection = await client('good.mjs', { env: { API_KEY: 'for this server', HOME: '/nowhere' } }).open(legacy())
  const env = await readJson(connection, 'env')
  const allowed = /^(HOME|PATH|SHELL|TERM|USER|LOGNAME|LANG|LC_\w+|API_KEY|TOWPATH_STDIO_SESSION)$/
  assert.deepEqual(
    Object.keys(env).filter((name) => !allowed.test(name)),
    []
  )
  assert.deepEqual(
    [env.API_KEY, env.HOME, env.PATH, env.LC_TEST],
    ['for this server', '/nowhere', process.env.PATH, 'C']
  )
})

test('SE-12 a child inherits no socket but its three pipes', async (t) => {
  const { client } = startGateway(t)
  const one = client('good.mjs')
  const [connection] = await Promise.all([one.open(legacy()), one.open(legacy())])
  const sockets = Object.entries(await readJson(connection, 'fds')).filter(([, to]) => String(to).startsWith('socket:'))
  assert.deepEqual(
    sockets.map(([name]) => name),
    ['0', '1', '2']
  )
})

test('IN-07 names and values that cannot stand in an environment start no process', async (t) => {
  const { client, children } = startGateway(t)
  for (const env of [{ 'A=B': '1' }, { '': '1' }, { A: 'x\0y' }]) {
    await assert.rejects(
      client('good.mjs', { env }).open(legacy()),
      failsWith('unreachable', /env contains an invalid/)
    )
  }
  await assert.rejects(
    client('good.mjs', { args: ['a\0b'] }).open(legacy()),
    failsWith('unreachable', /could not be started/)
  )
  assert.equal(children.size, 0)
})

test('the working folder is a fresh empty one that is removed, or the configured one', async (t) => {
  const { client } = startGateway(t)
  const fresh = await client('good.mjs').open(legacy())
  const cwd = String((await readJson(fresh, 'where')).cwd)
  assert.deepEqual(readdirSync(cwd), [])
  fresh.close()
  await fresh.ended
  assert.equal(existsSync(cwd), false)

  const given = await client('good.mjs', { cwd: fixtures }).open(legacy())
  assert.equal(`${String((await readJson(given, 'where')).cwd)}/`, fixtures)
  const missing = client('good.mjs', { cwd: '/no/such/folder' }).open(legacy())
  await assert.rejects(missing, failsWith('unreachable', /working folder does not exist/))
})

test('a second user runs the child, in a folder of its own', { skip: needsRoot }, async (t) => {
  const { client } = startGateway(t)
  const script = `
    while read -r line; do case $line in
      *initialize\\"*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}' ;;
      *tools/call*) touch mine && printf '{"jsonrpc":"2.0","id":2,"result":{"content":[{"text":"%s %s %s %s"}]}}\\n' \\
        "$(id -u)" "$(id -g)" "$(id -G)" "$(grep CapBnd /proc/self/status | cut -f2)" ;;
    esac; done`
  const options = { command: 'sh', args: ['-c', script], uid: 65_534, gid: 65_534 }
  const connection = await client('', options).open(legacy())
  assert.equal(await callTool(connection, 'who'), '65534 65534 65534 0000000000000000')
})

test('what a child creates is for its user alone, and the mask of the gateway stays as it was', async (t) => {
  const { client } = startGateway(t)
  const before = process.umask()
  const connection = await client('good.mjs').open(legacy())
  assert.equal(await callTool(connection, 'umask'), '77')
  assert.equal(process.umask(), before)
  await assert.rejects(client('good.mjs', { args: ['a\0b'] }).open(legacy()), failsWith('unreachable', /started/))
  assert.equal(process.umask(), before)
})

test('the start and the end of a process are logged, without secrets in arguments and without environment', async (t) => {
  const { client, lives } = startGateway(t)
  const connection = await client('good.mjs', { env: { API_KEY: 'sentinel' } }).open(legacy())
  const about = { server: 'x', command: 'node', pid: connection.pid }
  const [{ args, ...begin }] = lives as [{ args: string[] }]
  assert.deepEqual(begin, { ...about, actor: 'towpath', message: 'process started' })
  assert.match(args.join(' '), /good\.mjs$/)
  connection.close()
  await connection.ended
  const { ms, ...end } = lives[1]!
  assert.deepEqual(end, { ...about, code: 0, message: 'process ended' })
  assert.ok(Number.isInteger(ms))
  assert.equal(lives.length, 2)
})

const commandModule = new URL('../../src/upstream/stdio/command.ts', import.meta.url).href

/** Runs a script as a user with the capabilities needed to run children as a second user. */
function runAsUser(script: string, env: NodeJS.ProcessEnv = {}) {
  const caps = '+setuid,+setgid,+kill,+setpcap'
  const user = ['--reuid=54321', '--regid=54321', '--clear-groups', `--inh-caps=${caps}`, `--ambient-caps=${caps}`]
  const node = [process.execPath, '--import', import.meta.resolve('tsx'), '--input-type=module', '-e', script]
  const { stdout, stderr } = spawnSync('setpriv', [...user, ...node], { env: { ...process.env, ...env } })
  return { stdout: String(stdout).trim(), stderr: String(stderr) }
}

test(
  'without setpriv only root can start a second user, for others keep capabilities',
  { skip: needsRoot },
  async () => {
    const start = await withIdentity('/bin/true', [], { uid: 65_534, gid: undefined }, '/no/such/setpriv')
    assert.deepEqual(start, { file: '/bin/true', args: [], uid: 65_534, gid: 65_534 })
    const script = `
    import { withIdentity } from '${commandModule}'
    await withIdentity('/bin/true', [], { uid: 65534, gid: 65534 }, '/no/such/setpriv').catch((error) => console.log(error.message))
  `
    assert.equal(runAsUser(script).stdout, 'TOWPATH_STDIO_UID needs /no/such/setpriv')
  }
)

test('the folder of a second user goes with all that it left there', { skip: needsRoot }, async (t) => {
  const place = mkdtempSync(join(tmpdir(), 'towpath-test-'))
  t.after(() => rmSync(place, { recursive: true }))
  chmodSync(place, 0o777)
  const script = `
    import { spawnSync } from 'node:child_process'
    import { withIdentity, createFolder, removeFolder } from '${commandModule}'
    const identity = { uid: 65534, gid: 65534 }
    const cwd = await createFolder(identity)
    const { file, args } = await withIdentity('/bin/sh', ['-c', 'umask 077; mkdir -p a/b; touch a/b/c d; ls'], identity)
    console.log(String(spawnSync(file, args, { cwd }).stdout))
    await removeFolder(cwd, identity)
  `
  const { stdout, stderr } = runAsUser(script, { TMPDIR: place })
  assert.equal(stdout, 'a\nd', stderr)
  assert.deepEqual(
    readdirSync(place).filter((name) => !name.startsWith('tsx')),
    []
  )
})

const refused: [string, Partial<StdioOptions>, FailureReason, RegExp][] = [
  [
    'a command that does not exist',
    { command: 'no-such-command' },
    'unreachable',
    /^command "no-such-command" was not found$/
  ],
  ['a path that does not exist', { command: './no/such' }, 'unreachable', /^command "\.\/no\/such" was not found$/],
  ['a folder', { command: fixtures }, 'unreachable', /^command ".*" is a directory$/],
  ['a file without the right to execute', { command: `${fixtures}README.md` }, 'unreachable', /is not executable$/],
  ['an empty command', { command: '' }, 'unreachable', /^command "" was not found$/],
  [
    'a command that exits at once',
    { args: [`${fixtures}exits.mjs`] },
    'crashed',
    /^the process exited with code 3: configuration is missing$/
  ]
]
for (const [what, options, reason, message] of refused) {
  test(`UP-09 ${what} is refused before the deadline, naming the cause and leaving no zombie`, async (t) => {
    const { client, children } = startGateway(t)
    await assert.rejects(client('good.mjs', options).open(legacy()), failsWith(reason, message))
    await until('the end of the process', () => children.size === 0)
  })
}

test('UP-10 a death in the middle of a call fails it at once, naming code or signal and the last line', async (t) => {
  const { client } = startGateway(t)
  const dies = client('dies.mjs')
  for (const [args, message] of [
    [{ code: 7 }, /^the process exited with code 7: about to die$/],
    [{ signal: 'SIGKILL' }, /^the process was ended by signal SIGKILL: about to die$/]
  ] as const) {
    const connection = await dies.open(legacy())
    let closes = 0
    connection.onClose = () => closes++
    await assert.rejects(connection.send(startCall('die', args)), failsWith('crashed', message))
    assert.deepEqual([connection.closed, closes], [true, 1])
    await assert.rejects(
      connection.send(startCall('pid')),
      (error) => error instanceof UpstreamFailure && !error.maybeProcessed
    )
    connection.close()
    await connection.ended
    assert.deepEqual([closes, isListed(connection.pid)], [1, false])
  }
  const again = await dies.open(legacy())
  assert.equal(await callTool(again, 'pid'), String(again.pid))
})

test('declared secrets are taken out of messages, stderr and logged noise', async (t) => {
  const { client, logged } = startGateway(t)
  const tail = createStderrTail()
  const script = 'echo "junk $API_KEY"; printf "bad key sk-" >&2; sleep 0.05; printf sentinel >&2; exit 1'
  const options = { command: 'sh', args: ['-c', script], env: { API_KEY: 'sk-sentinel' }, tail }
  await assert.rejects(client('', options).open(legacy()), failsWith('crashed', /code 1: bad key \*\*\*$/))
  assert.deepEqual(tail.lines(), ['bad key ***'])
  assert.deepEqual(
    logged.map(({ line }) => line),
    ['junk ***']
  )
})

test('UP-11 noise on stdout disturbs no call and is logged 20 times a minute at most, 500 characters each', async (t) => {
  const { client, logged } = startGateway(t)
  const connection = await client('noisy.mjs').open(legacy())
  for (const text of ['a', 'b', 'c']) assert.equal(await callTool(connection, 'echo', { text }), text)
  assert.ok(logged.some(({ line }) => line === '{"jsonrpc":"2.0"}'))
  const chatty = await client('noisy.mjs', { env: { JUNK: '500' } }).open(legacy())
  assert.equal(await callTool(chatty, 'echo', { text: 'd' }), 'd')
  assert.equal(logged.filter(({ line }) => line.startsWith('junk')).length, 20)
  assert.ok(logged.every(({ line }) => line.length <= 500))
})

test('UP-12 a child that does not read costs its own call the deadline and nobody else anything', async (t) => {
  const { client } = startGateway(t)
  const deaf = await client('deaf.mjs').open(legacy())
  const other = await client('good.mjs').open(legacy())
  const call = startCall('echo', { text: 'x'.repeat(800_000) })
  const answer = deaf.send(call)
  assert.equal(await callTool(other, 'echo', { text: 'fine' }), 'fine')
  setTimeout(() => call.stop(new UpstreamFailure('timeout', 'no answer in time')), 200)
  await assert.rejects(answer, failsWith('timeout', /no answer/))

  deaf.close()
  assert.equal(isListed(deaf.pid), true, 'its end is not waited for')
  await deaf.ended
  assert.equal(isListed(deaf.pid), false)
})

test('what a child does not read is bounded: further requests are refused as not taken', async (t) => {
  const { client } = startGateway(t)
  const connection = await client('deaf.mjs').open(legacy())
  const text = 'x'.repeat(3_000_000)
  const waiting = [1, 2, 3].map(() => connection.send(startCall('echo', { text })))
  const refusal = connection.send(startCall('echo', { text }))
  await assert.rejects(
    refusal,
    (error) => failsWith('overloaded', /does not read/)(error) && !(error as UpstreamFailure).maybeProcessed
  )
  connection.close()
  for (const answer of waiting) await assert.rejects(answer, failsWith('cancelled', /closed/))
})

test('a line over the limit kills the process and fails its calls', async (t) => {
  const { client } = startGateway(t)
  const connection = await client('good.mjs').open(legacy())
  assert.equal((await callTool(connection, 'size', { bytes: 1_000_000 })).length, 1_000_000)
  const other = connection.send(startCall('slow'))
  await assert.rejects(
    connection.send(startCall('size', { bytes: 3_000_000 })),
    failsWith('too_large', /1048576 bytes/)
  )
  await assert.rejects(other, failsWith('too_large', /1048576 bytes/))
  await connection.ended
  assert.equal(isListed(connection.pid), false)
})

test('stderr is kept as its last 64 KiB', async (t) => {
  const { client } = startGateway(t)
  const tail = createStderrTail()
  const connection = await client('good.mjs', { tail }).open(legacy())
  await callTool(connection, 'stderr', { text: 'y'.repeat(100_000) })
  await callTool(connection, 'stderr', { text: 'the last line' })
  await until('stderr', () => tail.lines().at(-1) === 'the last line')
  assert.equal(tail.text().length, 65_536)
})

test('close returns at once, fails what is under way and leaves a good server the end of stdin to go by', async (t) => {
  const { client, lives } = startGateway(t)
  const connection = await client('good.mjs').open(legacy())
  const call = connection.send(startCall('echo', { text: 'x' }))
  let closes = 0
  connection.onClose = () => closes++
  connection.close()
  connection.close()
  assert.equal(isListed(connection.pid), true)
  await assert.rejects(call, failsWith('cancelled', /the connection was closed/))
  await connection.ended
  assert.equal(lives.at(-1)!.code, 0, 'no signal was needed')
  assert.deepEqual([closes, connection.closed, isListed(connection.pid)], [1, true, false])
})

test('a message is sent although the connection is closed in the same event-loop turn', async (t) => {
  const file = temporaryFile(t)
  const { client } = startGateway(t)
  const connection = await client('good.mjs', { env: { RECORD: file } }).open(legacy())
  connection.notify('notifications/last', '{}')
  connection.close()
  await connection.ended
  assert.match(readLines(file).at(-1)!, /notifications\/last/)
})

test('LC-01 a grandchild that ignores the end of stdin and TERM goes with its tree', async (t) => {
  const { client } = startGateway(t)
  const file = temporaryFile(t)
  const connection = await client('tree.sh', { env: { PID_FILE: file, NODE: process.execPath } }).open(legacy())
  const inner = Number(await callTool(connection, 'pid'))
  assert.notEqual(inner, connection.pid)
  assert.deepEqual(readPids(file), [connection.pid, inner])
  connection.close()
  await connection.ended
  assert.deepEqual(readPids(file).filter(isAlive), [])
})

test('a grandchild goes too when its parent dies first, and when it left the group for one of its own', async (t) => {
  const { client, children } = startGateway(t)
  const file = temporaryFile(t)
  const script = `
    const { spawn } = require('node:child_process')
    spawn('sh', ['-c', "trap '' TERM; echo $$ >> $PID_FILE; exec sleep 100"], { stdio: 'inherit' })
    spawn('bash', ['-mc', 'sleep 101 & echo $! >> $PID_FILE; wait'], { stdio: 'inherit' })
    const { existsSync, readFileSync } = require('node:fs')
    setInterval(() => {
      if (existsSync(process.env.PID_FILE) && readFileSync(process.env.PID_FILE, 'utf8').split('\\n').length > 2) process.exit(5)
    }, 20)`
  const options = { command: process.execPath, args: ['-e', script], env: { PID_FILE: file } }
  await assert.rejects(client('', options).open(legacy()), failsWith('crashed', /exited with code 5/))
  await until('the end of the tree', () => children.size === 0)
  assert.equal(readPids(file).length, 2)
  assert.deepEqual(readPids(file).filter(isAlive), [])
})

test('LC-02 a hundred processes used once, every tenth of them left mid-call, leave nothing', async (t) => {
  const { client, children } = startGateway(t)
  const good = client('good.mjs')
  const pids: number[] = []
  const useOnce = async (i: number) => {
    const connection = await good.open(legacy())
    pids.push(connection.pid)
    const call = startCall(i % 10 === 0 ? 'slow' : 'echo', { text: 'x' })
    const answer = connection.send(call)
    if (i % 10 === 0) call.stop(new UpstreamFailure('cancelled', 'left'))
    await answer.catch(() => {})
    connection.close()
  }
  for (let i = 0; i < 100; i += 4) await Promise.all([0, 1, 2, 3].map((more) => useOnce(i + more)))
  await until('the end of all processes', () => children.size === 0)
  assert.equal(pids.length, 100)
  assert.deepEqual(pids.filter(isListed), [])
})

test('what a process that has closed its input is sent was provably not taken', async (t) => {
  const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } }
  const say = (message: object) => `echo '${JSON.stringify({ jsonrpc: '2.0', ...message })}'`
  const steps = ['read line', say({ id: 1, result: greeting }), 'read line', 'exec 0<&-', say({ method: 'closed' })]
  const { client } = startGateway(t)
  const args = ['-c', [...steps, 'exec sleep 60'].join('\n')]
  const connection = await client('good.mjs', { command: '/bin/sh', args }).open(legacy())
  t.after(() => connection.close())
  let hasClosed = false
  connection.onNotification = () => (hasClosed = true)
  await until('the end of its input', () => hasClosed)
  const error: unknown = await connection.send(startCall('echo')).catch((reason: unknown) => reason)
  assert.ok(error instanceof UpstreamFailure)
  assert.deepEqual([error.reason, error.maybeProcessed], ['crashed', false])
})

test('a program that was changed is another basis for connections, other files are not', async (t) => {
  const { client } = startGateway(t)
  const [script, data] = [temporaryFile(t), temporaryFile(t)]
  for (const file of [script, data]) writeFileSync(file, '')
  const program = client('good.mjs', { command: process.execPath, args: [script, data] })
  const before = program.fingerprint
  utimesSync(data, 1, 1)
  assert.equal(program.fingerprint, before)
  utimesSync(script, 1, 1)
  assert.notEqual(program.fingerprint, before)
  const unknown = client('good.mjs', { command: 'node', args: ['/no/such/script', data] })
  assert.equal(unknown.fingerprint, unknown.fingerprint)
})

test('closing the client ends open connections and those that are still opening', async (t) => {
  const { client, children } = startGateway(t)
  const good = client('good.mjs')
  const open = await good.open(legacy())
  const opening = good.open(legacy())
  good.close()
  assert.equal(open.closed, true)
  await assert.rejects(opening, failsWith('cancelled', /closed/))
  await until('the end of both', () => children.size === 0)
})

test('closeAll waits for the end of every tree and refuses new ones; killAll waits for nothing', async (t) => {
  const { client, children } = startGateway(t)
  const file = temporaryFile(t)
  const env = { PID_FILE: file, NODE: process.execPath }
  await client('tree.sh', { env }).open(legacy())
  const good = client('good.mjs')
  await good.open(legacy())
  children.killAll()
  await until('the kill', () => readPids(file).every((pid) => !isAlive(pid)))
  await good.open(legacy()).then((connection) => callTool(connection, 'pid'))
  await children.closeAll()
  assert.equal(children.size, 0)
  await assert.rejects(good.open(legacy()), failsWith('unreachable', /the gateway is stopping/))
})

/** A gateway in a separate process that starts stubborn servers, prints their pids and its watchdog's, then waits. */
const gatewayScript = (count: number) => `
  import { createChildRegistry } from '${new URL('../../src/upstream/stdio/child-registry.ts', import.meta.url)}'
  import { createStderrTail } from '${new URL('../../src/upstream/stdio/stderr.ts', import.meta.url)}'
  import { createWatchdog } from '${new URL('../../src/upstream/stdio/watchdog.ts', import.meta.url)}'
  import { createStdioClient } from '${new URL('../../src/upstream/stdio/stdio-client.ts', import.meta.url)}'
  const children = createChildRegistry(createWatchdog)
  const client = (file) => createStdioClient({
    server: 'x', version: '1', command: '/bin/sh', args: ['${fixtures}' + file], env: { NODE: process.execPath },
    gatewayEnv: process.env, cwd: '/', uid: undefined, gid: undefined, limits: { maxLineBytes: 1e6 },
    log: { debug() {}, info() {}, warn() {} }, tail: createStderrTail(), children
  })
  const options = { era: 'legacy', capabilities: '{}', deadline: performance.now() + 120000 }
  const pids = []
  for (let i = 0; i < ${count}; i++) pids.push((await client('tree.sh').open(options)).pid)
  console.log(pids.join(' '))
  setInterval(() => {}, 1000)
`

const membersOf = (session: number) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
        const [state, , , sid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        return Number(sid) === session && state !== 'Z'
      } catch {
        return false
      }
    })

const childrenOf = (parent: number) =>
  readFileSync(`/proc/${parent}/task/${parent}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number)

test('LC-04 when the gateway is killed, the watchdog ends every tree within seconds, and then itself', async (t) => {
  const gateway = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', gatewayScript(2)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TOWPATH_ENCRYPTION_KEY: 'sentinel' }
  })
  t.after(() => gateway.kill('SIGKILL'))
  const sessions: number[] = []
  gateway.stdout.on('data', (chunk: Buffer) => sessions.push(...chunk.toString().trim().split(' ').map(Number)))
  await until('the servers', () => sessions.length === 2)
  const isWatchdog = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('while read')
  const [watchdog] = childrenOf(gateway.pid!).filter(isWatchdog)
  assert.ok(watchdog)
  assert.equal(readFileSync(`/proc/${watchdog}/environ`, 'latin1').includes('sentinel'), false)
  const outsiders = readdirSync(`/proc/${watchdog}/fd`).filter((name) => Number(name) < 10)
  assert.deepEqual(outsiders, ['0', '1', '2'])
  for (const session of sessions) assert.equal(membersOf(session).length, 2)

  gateway.kill('SIGKILL')
  await until('the end of the orphans', () => sessions.every((session) => membersOf(session).length === 0))
  await until('the end of the watchdog', () => !isAlive(watchdog))
})

test('the watchdog survives the signals of a terminal and spares a group that it was told is gone', async (t) => {
  const watchdog = createWatchdog('TOWPATH_STDIO_SESSION=none.')
  const before = childrenOf(process.pid)
  watchdog.ensureRunning()
  const [shell] = childrenOf(process.pid).filter((pid) => !before.includes(pid))
  const start = () => spawn('sleep', ['100'], { detached: true, stdio: 'ignore' })
  const [gone, left] = [start(), start()]
  t.after(() => [gone, left].forEach((child) => child.kill('SIGKILL')))
  watchdog.add(gone.pid!)
  watchdog.add(left.pid!)
  watchdog.add(1_234_567)
  watchdog.remove(gone.pid!)
  const ignored = () => parseInt(/SigIgn:\s*(\w+)/.exec(readFileSync(`/proc/${shell}/status`, 'latin1'))![1]!, 16)
  await until('the shell to ignore TERM', () => (ignored() & (1 << 14)) !== 0)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(shell!, signal)
  assert.equal(isAlive(shell!), true)
  watchdog.close()
  await until('the end of the group that is left', () => left.signalCode === 'SIGTERM')
  await until('the end of the watchdog', () => !isAlive(shell!))
  assert.deepEqual([gone.exitCode, gone.signalCode], [null, null])
})

test('a watchdog that was killed is started again with the groups that it had', async (t) => {
  const watchdog = createWatchdog('TOWPATH_STDIO_SESSION=none.')
  const before = childrenOf(process.pid)
  const findShell = () => childrenOf(process.pid).find((pid) => !before.includes(pid) && pid !== sleeper.pid)
  const sleeper = spawn('sleep', ['100'], { detached: true, stdio: 'ignore' })
  t.after(() => sleeper.kill('SIGKILL'))
  watchdog.ensureRunning()
  const first = findShell()!
  watchdog.add(sleeper.pid!)
  process.kill(first, 'SIGKILL')
  await until('its death', () => !isListed(first))
  await until('the next one', () => (watchdog.ensureRunning(), findShell() !== undefined))
  watchdog.close()
  await until('the end of the group', () => sleeper.signalCode === 'SIGTERM')
})

test('LC-04 the watchdog goes when there have been no children for a while, and comes with the next', async (t) => {
  const watchdog = createWatchdog('TOWPATH_STDIO_SESSION=none.', 50)
  const before = childrenOf(process.pid)
  const sleeper = spawn('sleep', ['100'], { detached: true, stdio: 'ignore' })
  t.after(() => sleeper.kill('SIGKILL'))
  const findShell = () => childrenOf(process.pid).find((pid) => !before.includes(pid) && pid !== sleeper.pid)
  watchdog.ensureRunning()
  watchdog.add(sleeper.pid!)
  const first = findShell()!
  await delay(200)
  assert.equal(findShell(), first)
  watchdog.remove(sleeper.pid!)
  await until('its end', () => !isAlive(first))

  watchdog.ensureRunning()
  await until('its end where no child came', () => findShell() === undefined)
  watchdog.ensureRunning()
  watchdog.add(sleeper.pid!)
  await delay(200)
  assert.ok(findShell())
  watchdog.close()
  await until('the end of the group', () => sleeper.signalCode === 'SIGTERM')
})

test('a process that refuses the handshake holds its slot until it has ended', async (t) => {
  const { client } = startGateway(t)
  const folder = mkdtempSync(join(tmpdir(), 'refuses-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const pidFile = join(folder, 'pid')
  const connect = createConnector({
    ...{ name: 'x', client: client('refuses.mjs', { env: { PID_FILE: pidFile } }), transport: 'stdio' },
    ...{ mode: 'stateless', breaker: createBreaker(), connectMs: 60_000 },
    observer: { onConnected() {}, onConnectionFailure() {} },
    onNotification() {}
  })
  let isReleased = false
  const parameters = { era: 'legacy', capabilities: '{}' } as const
  await assert.rejects(connect(parameters, new ConnectTimings(), () => void (isReleased = true)))
  const pid = Number(readFileSync(pidFile, 'utf8'))
  assert.ok(existsSync(`/proc/${pid}`))
  assert.equal(isReleased, false)
  await until('the slot to be free', () => isReleased)
  assert.ok(!existsSync(`/proc/${pid}`))
})
