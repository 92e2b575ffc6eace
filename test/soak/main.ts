import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startGateway, type Gateway } from '../e2e/harness.ts'
import { until } from '../until.ts'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { startPostgres } from '../postgres.ts'
import { runStandalone } from '../standalone.ts'
import { addCleanup, tempDir } from '../store.ts'
import { injectFaults } from './faults.ts'
import { allServers } from './hostile/hostile-tools.ts'
import { soakHostile } from './hostile/main.ts'
import { legacy, modern, sse, subscriber } from './mcp-callers.ts'
import { sample, slope, type Sample } from './measure.ts'
import { invoker, leaver, principals, registrar, toggler } from './rest-callers.ts'
import { createTally } from './tally.ts'
import { ask, type Headers, type World } from './world.ts'

const ADMIN = 'soak-admin-token-0123456789'
const CLIENT = 'soak-client-token-0123456789'
const SAMPLE_MS = 1_000
/** Share of the time before the measurement, in which caches, pools and the heap reach their size. */
const WARM_UP = 0.4
/**
 * Returns the allowed growth in MB per minute for ten minutes or more; shorter runs allow more, since noise is larger.
 */
const allowedSlope = (minutes: number) => Math.max(1, (10 / minutes) ** 2)
/** Allowed difference in open descriptors after the load: connections kept alive for the next call. */
const SPARE_DESCRIPTORS = 30

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })

const settings = {
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  TOWPATH_CALL_TIMEOUT_MS: '5000',
  TOWPATH_CONNECT_TIMEOUT_MS: '3000',
  TOWPATH_SESSION_IDLE_MS: '20000',
  TOWPATH_LOG_LEVEL: 'error'
}

async function prepare(t: TestContext, isEnterprise: boolean) {
  const cluster = await startPostgres(process.env)
  if (!cluster) throw new Error('no PostgreSQL found')
  addCleanup(t, () => cluster.stop())
  const upstream = await startRecorder(t, { tells: true, modern: true })
  const forget = setInterval(() => upstream.requests.splice(0), SAMPLE_MS)
  addCleanup(t, () => clearInterval(forget))
  const proxies = { upstream: await startFaultProxy(upstream.url), database: await startFaultProxy(cluster.url) }
  for (const proxy of Object.values(proxies)) addCleanup(t, () => proxy.close())

  const place = { databaseUrl: proxies.database.urlOf(cluster.url), dataDir: await tempDir(t) }
  const env = { ...settings, ...(isEnterprise && { SERVER_MODE: 'enterprise', TOWPATH_ADMIN_TOKEN: ADMIN }) }
  const gateway = await startGateway(t, { place, env })
  const world: Omit<World, 'stop'> = {
    url: gateway.url,
    upstreamUrl: upstream.url,
    admin: isEnterprise ? bearer(ADMIN) : {},
    client: isEnterprise ? bearer(CLIENT) : {},
    isEnterprise,
    tally: createTally()
  }
  return { gateway, world, proxies, faultyUrl: proxies.upstream.urlOf(upstream.url) }
}

async function register(world: World, url: string): Promise<void> {
  const alpha = { name: 'alpha', transport: 'streamable_http', url }
  const client = { name: 'soak', allowed_servers: ['*'], access_token: CLIENT }
  const made = [await ask(world, 'POST', '/api/v0/servers', world.admin, alpha)]
  if (world.isEnterprise) made.push(await ask(world, 'POST', '/api/v0/clients', world.admin, client))
  for (const { status, text } of made) if (status !== 201) throw new Error(`${status} ${text}`)
}

const callers = (world: World): Promise<unknown>[] => [
  ...[1, 2, 3].flatMap((caller) => [
    invoker(world, caller),
    modern(world, caller),
    legacy(world, caller),
    sse(world, caller)
  ]),
  ...[leaver(world), leaver(world), registrar(world), toggler(world), subscriber(world), subscriber(world)],
  ...(world.isEnterprise ? [principals(world)] : [])
]

/** Longer than the 72 s for which idle client connections are kept alive. */
const GONE_MS = 90_000

async function watch({ pid, exited }: Gateway, minutes: number, stop: AbortSignal): Promise<Sample[]> {
  const begun = performance.now()
  const samples: Sample[] = []
  let isRunning = true
  void exited.then(() => (isRunning = false))
  while (!stop.aborted && isRunning) {
    samples.push(sample(pid, (performance.now() - begun) / 60_000))
    const { minute, rssMb, descriptors, children } = samples.at(-1)!
    if (samples.length % 30 === 0) {
      console.log(
        `${minute.toFixed(1)} of ${minutes} min: ${rssMb.toFixed(0)} MB, ${descriptors} descriptors, ${children} children`
      )
    }
    await delay(SAMPLE_MS)
  }
  return samples
}

async function soak(t: TestContext, minutes: number, isEnterprise: boolean): Promise<string[]> {
  const { gateway, world: base, proxies, faultyUrl } = await prepare(t, isEnterprise)
  const stopping = new AbortController()
  const world: World = { ...base, stop: stopping.signal }
  await register(world, faultyUrl)
  const before = sample(gateway.pid, 0)

  const timer = setTimeout(() => stopping.abort(), minutes * 60_000)
  void gateway.exited.then(() => stopping.abort())
  const load = callers(world)
  const [samples, injected] = await Promise.all([
    watch(gateway, minutes, world.stop),
    injectFaults(proxies, world.stop),
    ...load
  ])
  clearTimeout(timer)
  const problems: string[] = []
  if (gateway.child.exitCode !== null) problems.push(`the gateway has ended: ${gateway.output().slice(-2_000)}`)
  const warm = samples.filter(({ minute }) => minute >= minutes * WARM_UP)
  const growth = slope(warm)
  if (growth >= allowedSlope(minutes)) problems.push(`memory grows by ${growth.toFixed(2)} MB a minute`)
  const { tally } = world
  if (tally.lostCount > 0) problems.push(`${tally.lostCount} answers were lost`, ...tally.reasons())

  const isQuiet = () => {
    const { descriptors, children } = sample(gateway.pid, 0)
    return children === 0 && descriptors <= before.descriptors + SPARE_DESCRIPTORS
  }
  await until('children and descriptors to be gone', isQuiet, GONE_MS).catch((error: Error) =>
    problems.push(error.message)
  )
  const after = sample(gateway.pid, 0)
  console.table(tally.table())
  console.log(
    `${injected} faults; memory ${growth.toFixed(2)} MB a minute after warm-up, at most ${Math.max(...samples.map(({ rssMb }) => rssMb)).toFixed(0)} MB`
  )
  for (const key of ['descriptors', 'threads', 'children'] as const) {
    console.log(
      `${key}: ${before[key]} before, at most ${Math.max(...samples.map((each) => each[key]))}, ${after[key]} after`
    )
  }
  return problems
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    mode: { type: 'string', default: 'enterprise' },
    hostile: { type: 'boolean', default: false },
    beside: { type: 'boolean', default: false },
    servers: { type: 'string', default: allServers.join() },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) }
  }
})
const [minutes, isEnterprise] = [Number(values.minutes), values.mode === 'enterprise']
const problems = await runStandalone((t) =>
  values.hostile
    ? soakHostile(t, minutes, isEnterprise, Number(values.seed), values.servers.split(','), values.beside)
    : soak(t, minutes, isEnterprise)
)
for (const problem of problems) console.error(`FAILED: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
