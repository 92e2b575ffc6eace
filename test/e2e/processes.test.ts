import assert from 'node:assert/strict'
import { openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { addCleanup, tempDir } from '../store.ts'
import { restart, root, startGateway, type Gateway } from './harness.ts'
import { until } from '../until.ts'
import { connectV1 } from './peers.ts'
import { descendants, isAlive } from './process-tree.ts'

const file = (name: string) => join(root, 'test/fixtures/stdio', name)
const stdio = (name: string, command: string, args: string[], more: object = {}) => ({
  name,
  transport: 'stdio',
  command,
  args,
  ...more
})

const textOf = (body: unknown) => (body as { content: { text: string }[] }).content[0]?.text
const call = (gateway: Gateway, name: string) => gateway.post('/api/v0/tools/invoke', { name })
const pidsIn = (path: string) => readFileSync(path, 'utf8').trim().split('\n').map(Number)

test('LC-01 removing a server ends its whole process tree, whatever it ignores', async (t) => {
  const pidFile = join(await tempDir(t), 'pids')
  const gateway = await startGateway(t)
  const env = { PID_FILE: pidFile, NODE: process.execPath }
  await gateway.register(stdio('alpha', 'sh', [file('tree.sh')], { env, session_mode: 'stateful' }))
  assert.equal((await call(gateway, 'alpha__pid')).status, 200)
  const pids = pidsIn(pidFile)
  assert.ok(pids.some(isAlive))

  assert.equal((await gateway.remove('/api/v0/servers/alpha')).status, 204)
  await until('the tree to be gone', () => !pids.some(isAlive) && descendants(gateway.pid).length === 0)
})

test('LC-02 no process is left of calls to a stateless server, abandoned ones included', async (t) => {
  const gateway = await startGateway(t, { env: { TOWPATH_SPARE_SESSIONS: '0' } })
  await gateway.register(stdio('alpha', process.execPath, [file('good.mjs')]))
  const abandon = async () => {
    const stop = new AbortController()
    const body = JSON.stringify({ name: 'alpha__slow' })
    const headers = { 'content-type': 'application/json' }
    const answer = fetch(`${gateway.url}/api/v0/tools/invoke`, { method: 'POST', headers, body, signal: stop.signal })
    await until('the call to have a process', () => descendants(gateway.pid).length > 0)
    stop.abort()
    await assert.rejects(answer, { name: 'AbortError' })
  }
  for (let round = 0; round < 10; round++) {
    for (let count = 0; count < 9; count++) assert.equal((await call(gateway, 'alpha__pid')).status, 200)
    await abandon()
  }
  await until('every child to be gone', () => descendants(gateway.pid).length === 0)
})

test('LC-03 on SIGTERM the call under way is answered, streams end, and nothing is left', async (t) => {
  // a shutdown that never completes must outlast the test
  const gateway = await startGateway(t, { env: { TOWPATH_DRAIN_TIMEOUT_MS: '3600000' } })
  await gateway.register(stdio('alpha', process.execPath, [file('good.mjs')], { session_mode: 'stateful' }))
  // each client of this SDK keeps a stream open for notifications
  const [client] = await Promise.all(Array.from({ length: 20 }, () => connectV1(t, gateway.url)))
  let hasBegun = false
  const underWay = client!.callTool({ name: 'alpha__slow', arguments: { ms: 2_000, steps: 20 } }, undefined, {
    onprogress: () => (hasBegun = true)
  })
  await until('the call to have begun', () => hasBegun)
  const children = descendants(gateway.pid).map(({ pid }) => pid)

  const stopped = gateway.stop()
  const late = await until('new requests to be refused', async () => {
    const status = await gateway.get('/api/v0/servers').then(
      (answer) => answer.status,
      () => 'refused'
    )
    return status !== 200 && status
  })
  assert.ok(late === 'refused' || late === 503, String(late))
  assert.equal(textOf(await underWay), 'done')
  assert.equal(await stopped, 0)
  await until('every child to be gone', () => !children.some(isAlive))
})

test('LC-04 a killed gateway leaves no server process behind its next start', async (t) => {
  const pidFile = join(await tempDir(t), 'pids')
  const gateway = await startGateway(t)
  const mode = { session_mode: 'stateful' }
  await gateway.register(stdio('good', process.execPath, [file('good.mjs')], mode))
  await gateway.register(
    stdio('stubborn', process.execPath, [file('stubborn.mjs')], { ...mode, env: { PID_FILE: pidFile } })
  )
  const good = Number(textOf((await call(gateway, 'good__pid')).body))
  const stubborn = Number(textOf((await call(gateway, 'stubborn__pid')).body))
  assert.ok(isAlive(good) && isAlive(stubborn))
  addCleanup(t, () => {
    for (const pid of pidsIn(pidFile)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })

  await gateway.stop('SIGKILL')
  const again = await restart(t, gateway)
  await until('the orphans to be gone', () => !isAlive(good) && !pidsIn(pidFile).some(isAlive))
  const now = Number(textOf((await call(again, 'stubborn__pid')).body))
  assert.notEqual(now, stubborn)
  // the process that read the lists after the start may still be ending
  await until('one process', () => pidsIn(pidFile).filter(isAlive).length === 1)
})

/** Asserts that requests are served, including requests that write to the log. */
async function assertServes(gateway: Gateway): Promise<void> {
  for (let count = 0; count < 20; count++) {
    const failing = { name: 'alpha', transport: 'streamable_http', url: 'http://127.0.0.1:9/mcp' }
    assert.equal((await gateway.post('/api/v0/servers', failing)).status, 502)
    assert.equal((await gateway.get('/health')).status, 200)
  }
}

test('LC-17 a gateway whose output goes to a full disk or a closed pipe goes on serving', async (t) => {
  const full = openSync('/dev/full', 'w')
  await assertServes(await startGateway(t, { stdio: ['ignore', full, full] }))

  const piped = await startGateway(t)
  piped.child.stdout?.destroy()
  piped.child.stderr?.destroy()
  await assertServes(piped)
})

/** Returns the addresses of a process's listening TCP sockets, in hexadecimal as the kernel writes them. */
function listeningSockets(pid: number): string[] {
  const own = new Set(readdirSync(`/proc/${pid}/fd`).flatMap((name) => inodeOf(`/proc/${pid}/fd/${name}`)))
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && own.has(inode!))
      .map(([, local]) => local!)
  )
}

function inodeOf(link: string): string[] {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(link))?.slice(1) ?? []
  } catch {
    return []
  }
}

test('DA-12 without a host option it listens on 127.0.0.1 and nowhere else, metrics included', async (t) => {
  const gateway = await startGateway(t, { env: { HOST: '', OTEL_ENABLED: 'on' } })
  const port = gateway.port.toString(16).toUpperCase().padStart(4, '0')
  assert.deepEqual(listeningSockets(gateway.pid), [`0100007F:${port}`])
  assert.doesNotMatch(gateway.output(), /without authentication/)
})
