import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startGateway, type Gateway } from '../../e2e/harness.ts'
import { startRecorder } from '../../fixtures/http/recorder.ts'
import { legacyBody, modernBody, modernHeaders } from '../../integration/mcp-helpers.ts'
import { startPostgres } from '../../postgres.ts'
import { later, tempDir } from '../../store.ts'
import { sample } from '../measure.ts'
import { createLatency, type Latency } from './latency.ts'
import { createLimit, LIMIT_MB } from './limit.ts'

const ADMIN = 'soak-admin-token-0123456789'
const CLIENT = 'soak-client-token-0123456789'
const ATTACKER = 'soak-attacker-token-0123456789'
const ROTATED = 'soak-rotated-token-0123456789'
/** The lowest priority but four: attackers shall load the gateway, not the machine that both run on. */
const NICE = 15
const QUIET_PART = 0.2
const MOST_TIMES_QUIET = 3
/** Below it a ratio says more of the machine than of the gateway. */
const LEAST_QUIET_MS = 5
const PAUSE_MS = 100
const ADMIN_EVERY_MS = 3_000
const PATIENCE_MS = 15_000

const settings = {
  SERVER_MODE: 'enterprise',
  TOWPATH_ADMIN_TOKEN: ADMIN,
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  TOWPATH_CALL_TIMEOUT_MS: '10000',
  TOWPATH_CALL_TOTAL_TIMEOUT_MS: '20000',
  TOWPATH_CONNECT_TIMEOUT_MS: '5000',
  TOWPATH_EVENT_LOOP_LAG_MS: '2000',
  TOWPATH_LOG_LEVEL: 'error',
  NODE_OPTIONS: '--max-old-space-size=512'
}

type Ask = (
  method: string,
  path: string,
  token: string,
  body?: string | object,
  headers?: Record<string, string>
) => Promise<{ status: number; text: string }>

const asker =
  (gateway: Gateway): Ask =>
  async (method, path, token, body, headers = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(gateway.url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        accept: 'application/json, text/event-stream',
        ...headers
      },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body === undefined ? {} : { body: text })
    })
    return { status: response.status, text: await response.text() }
  }

/** A process of our own at low priority, ended with the run. */
function start(t: TestContext, file: string, args: readonly string[]): ChildProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: ['--import', import.meta.resolve('tsx')]
  })
  setPriority(child.pid!, NICE)
  later(t, () => child.kill('SIGKILL'))
  return child
}

async function expectMade(ask: Ask, path: string, body: object): Promise<void> {
  const { status, text } = await ask('POST', path, ADMIN, body)
  if (status !== 201) throw new Error(`${path}: ${status} ${text}`)
}

const own = { name: 'good__echo', arguments: { text: 'x' } }
/** What others do, with the text that their answers hold. */
const others: Readonly<Record<string, (ask: Ask) => ReturnType<Ask>>> = {
  'REST call': (ask) => ask('POST', '/api/v0/tools/invoke', ADMIN, { name: own.name, text: 'x' }),
  'legacy call': (ask) => ask('POST', '/mcp', CLIENT, legacyBody('tools/call', own)),
  'modern call': (ask) =>
    ask('POST', '/mcp', CLIENT, modernBody('tools/call', own), modernHeaders('tools/call', own.name)),
  list: (ask) => ask('POST', '/mcp', CLIENT, legacyBody('tools/list'))
}

async function measure(ask: Ask, latency: Latency, stop: AbortSignal): Promise<void> {
  const caller = async ([kind, work]: [string, (ask: Ask) => ReturnType<Ask>]) => {
    while (!stop.aborted) {
      const begun = performance.now()
      try {
        const { status, text } = await work(ask)
        if (status === 200 && !text.includes('"error"')) latency.took(kind, performance.now() - begun)
        else latency.failed(kind, `${status} ${text}`)
      } catch (error) {
        latency.failed(kind, `no answer: ${(error as Error).message}`)
      }
      await delay(PAUSE_MS)
    }
  }
  await Promise.all(Object.entries(others).map(caller))
}

/** An administrator looks, and takes from the attackers what they have: each has to work at any moment. */
const deeds: Readonly<Record<string, (ask: Ask) => Promise<{ status: number; text: string }>>> = {
  'list servers': (ask) => ask('GET', '/api/v0/servers', ADMIN),
  'disable the hostile server': (ask) => ask('POST', '/api/v0/servers/bad/disable', ADMIN),
  'enable it again': (ask) => ask('POST', '/api/v0/servers/bad/enable', ADMIN),
  "rotate the attacker's token": (ask) => ask('PUT', '/api/v0/clients/attacker', ADMIN, { access_token: ROTATED }),
  'give it back': (ask) => ask('PUT', '/api/v0/clients/attacker', ADMIN, { access_token: ATTACKER })
}

async function administer(ask: Ask, latency: Latency, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    for (const [deed, work] of Object.entries(deeds)) {
      const begun = performance.now()
      const { status, text } = await work(ask).catch((error: Error) => ({ status: 0, text: error.message }))
      if (status >= 200 && status < 300) latency.took(`admin: ${deed}`, performance.now() - begun)
      else latency.failed(`admin: ${deed}`, `${status} ${text}`)
    }
    await delay(ADMIN_EVERY_MS, undefined, { signal: stop }).catch(() => {})
  }
}

async function prepare(t: TestContext) {
  const cluster = await startPostgres(process.env)
  if (!cluster) throw new Error('no PostgreSQL found')
  later(t, () => cluster.stop())
  const limit = createLimit()
  if (limit) later(t, () => limit.remove())
  const place = { databaseUrl: cluster.url, dataDir: await tempDir(t) }
  const gateway = await startGateway(t, { place, env: settings, ...(limit && { launcher: limit.launcher }) })
  const good = await startRecorder(null, { name: 'good', modern: true })
  later(t, good.close)
  const forget = setInterval(() => good.requests.splice(0), 1_000)
  later(t, () => clearInterval(forget))
  const [url] = (await once(start(t, './upstream.ts', []), 'message')) as [string]
  const ask = asker(gateway)
  await expectMade(ask, '/api/v0/servers', { name: 'good', transport: 'streamable_http', url: good.url })
  await expectMade(ask, '/api/v0/servers', { name: 'bad', transport: 'streamable_http', url, session_mode: 'stateful' })
  await expectMade(ask, '/api/v0/clients', { name: 'caller', allowed_servers: ['good'], access_token: CLIENT })
  await expectMade(ask, '/api/v0/clients', { name: 'attacker', allowed_servers: ['bad'], access_token: ATTACKER })
  return { gateway, ask, isHeld: limit !== undefined }
}

async function watchMemory(gateway: Gateway, stop: AbortSignal): Promise<number> {
  let most = 0
  while (!stop.aborted && gateway.child.exitCode === null) {
    most = Math.max(most, sample(gateway.pid, 0).rssMb)
    await delay(250)
  }
  return most
}

/** One part of the run with these attackers: how long others waited, and the most memory that was resident. */
async function phase(
  t: TestContext,
  gateway: Gateway,
  ask: Ask,
  ms: number,
  attackers: readonly (readonly string[])[]
) {
  const latency = createLatency()
  const bursts = new Map<string, number>()
  const stop = AbortSignal.timeout(ms)
  const children = attackers.map((args) => start(t, './attacker.ts', args))
  for (const child of children) child.on('message', (name: string) => bursts.set(name, (bursts.get(name) ?? 0) + 1))
  const [rssMb] = await Promise.all([
    watchMemory(gateway, stop),
    measure(ask, latency, stop),
    administer(ask, latency, stop)
  ])
  for (const child of children) child.kill('SIGKILL')
  return { latency, rssMb, bursts }
}

/** What was violated, by kind of request. */
function violations(quiet: Latency, attacked: Latency): string[] {
  return attacked.kinds().flatMap((kind) => {
    const failures = attacked.failures(kind)
    const failed =
      failures.length > 0 ? [`${kind}: ${failures.length} failed: ${failures.filter(Boolean).join(' | ')}`] : []
    if (kind.startsWith('admin')) return failed
    const allowed = MOST_TIMES_QUIET * Math.max(LEAST_QUIET_MS, quiet.percentile(kind, 99))
    const p99 = attacked.percentile(kind, 99)
    const slow = p99 <= allowed ? [] : [`${kind}: p99 is ${p99.toFixed(0)} ms, ${allowed.toFixed(0)} ms are allowed`]
    return [...failed, ...slow]
  })
}

/** A client with the least rights, a visitor and a server try to stop a gateway; what they managed. */
export async function soakHostile(t: TestContext, minutes: number): Promise<string[]> {
  const { gateway, ask, isHeld } = await prepare(t)
  const port = `${gateway.port}`
  console.log(
    `memory ${isHeld ? `held to ${LIMIT_MB} MB by a control group` : `watched against ${LIMIT_MB} MB`}; ` +
      `attackers run at nice ${NICE}, with pauses; while it is quiet as many processes use the CPU in their place`
  )
  const ms = minutes * 60_000
  const quiet = await phase(t, gateway, ask, ms * QUIET_PART, [
    ['nobody', port],
    ['nobody', port]
  ])
  const attacked = await phase(t, gateway, ask, ms * (1 - QUIET_PART), [
    ['client', port, ATTACKER],
    ['visitor', port]
  ])
  const row = (kind: string) => ({
    'quiet p50': quiet.latency.percentile(kind, 50),
    'quiet p99': quiet.latency.percentile(kind, 99),
    p50: attacked.latency.percentile(kind, 50),
    p99: attacked.latency.percentile(kind, 99),
    answers: attacked.latency.count(kind),
    failures: attacked.latency.failures(kind).length
  })
  const rounded = (cells: object) =>
    Object.fromEntries(Object.entries(cells).map(([name, value]) => [name, Math.round(value as number)]))
  console.table(Object.fromEntries(attacked.latency.kinds().map((kind) => [kind, rounded(row(kind))])))
  console.table(Object.fromEntries(attacked.bursts))
  console.log(`resident memory: ${quiet.rssMb.toFixed(0)} MB quiet, at most ${attacked.rssMb.toFixed(0)} MB attacked`)
  const problems = violations(quiet.latency, attacked.latency)
  if (gateway.child.exitCode !== null || gateway.child.signalCode !== null) {
    problems.unshift(
      `the gateway has ended: ${gateway.child.exitCode ?? gateway.child.signalCode} ${gateway.output().slice(-1_500)}`
    )
  }
  if (attacked.rssMb >= LIMIT_MB)
    problems.push(`${attacked.rssMb.toFixed(0)} MB were resident, ${LIMIT_MB} MB are allowed`)
  return problems
}
