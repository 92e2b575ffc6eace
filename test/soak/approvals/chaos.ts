import { setMaxListeners } from 'node:events'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { key as encryption } from '../../e2e/enterprise.ts'
import { request, startGateway, type Gateway } from '../../e2e/harness.ts'
import { sendJson, startHttp } from '../../fixtures/http/server.ts'
import { addCleanup, tempDir } from '../../store.ts'
import { answers, makeCall, ways, type PlannedCall, type CallOutcome } from './calls.ts'

/**
 * Kills replicas while calls wait for a yes, and checks that no call reaches its server without one, and none runs
 * twice (approvals.md, "Success").
 */
export interface ChaosOptions {
  readonly databaseUrl: string
  /** Calls, each of which lives through a kill. */
  readonly runs: number
  readonly seed: number
  readonly callsPerKill?: number
  readonly report?: (text: string) => void
}

export interface ChaosOutcome {
  readonly kills: number
  readonly runs: number
  /** Calls that reached the server, and yeses given. */
  readonly reached: number
  readonly yeses: number
  readonly seen: Readonly<Record<string, number>>
  /** Violations, as texts; empty if all is well. */
  readonly problems: readonly string[]
}

const CLIENTS = 10
const HOLD_MS = 1_500
/** Longer than the time after which a lost replica fails its tasks. */
const ROUND_MS = 26_000
const ADMIN = 'chaos-admin-token-0123456789'

/** Mulberry32: small, and the same on every machine. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A server that records the calls that reach it, with the times. */
async function startRisky(t: TestContext, random: () => number) {
  const reached: { readonly key: string; readonly at: number }[] = []
  const tools = [{ name: 'act', inputSchema: { type: 'object' } }]
  const http = await startHttp(({ message }, response) => {
    const { id, method, params } = message ?? {}
    const answer = (result: object) => sendJson(response, 200, { jsonrpc: '2.0', id, result })
    if (method === 'initialize')
      return answer({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'risky', version: '1' }
      })
    if (method === 'tools/list') return answer({ tools })
    if (method !== 'tools/call') return id === undefined ? void response.writeHead(202).end() : answer({})
    const { key } = (params as { arguments: { key: string } }).arguments
    reached.push({ key, at: performance.now() })
    setTimeout(answer, random() * 400, { content: [{ type: 'text', text: key }] })
  })
  addCleanup(t, http.close)
  return { url: `${http.origin}/mcp`, reached }
}

interface World {
  readonly replicas: Gateway[]
  /** Of MCP clients, and of people, who call over REST. */
  readonly tokens: { readonly mcp: readonly string[]; readonly rest: readonly string[] }
  readonly risky: Awaited<ReturnType<typeof startRisky>>
  start(): Promise<Gateway>
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function prepare(t: TestContext, { databaseUrl }: ChaosOptions, random: () => number): Promise<World> {
  const risky = await startRisky(t, random)
  const start = async () =>
    startGateway(t, {
      place: { databaseUrl, dataDir: await tempDir(t) },
      env: { ...encryption, TOWPATH_ADMIN_TOKEN: ADMIN, TOWPATH_LOG_LEVEL: 'fatal' }
    })
  const first = await start()
  const create = async (path: string, body: object) => {
    const answer = await request(`${first.url}/api/v0${path}`, 'POST', body, bearer(ADMIN))
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.body as { access_token: string }
  }
  await create('/servers', { name: 'risky', transport: 'streamable_http', url: risky.url })
  await create('/policies', {
    ...{ name: 'ask', effect: 'approve', targets: { servers: ['risky'] }, hold_ms: HOLD_MS },
    valid_ms: ROUND_MS
  })
  const tokens = { mcp: [] as string[], rest: [] as string[] }
  for (let n = 0; n < CLIENTS; n++) {
    tokens.mcp.push((await create('/clients', { name: `c${n}`, allowed_servers: ['*'] })).access_token)
    tokens.rest.push((await create('/users', { name: `p${n}` })).access_token)
  }
  return { replicas: [first, await start()], tokens, risky, start }
}

/** Says yes or no to the requests of a call as often as they are not decided, but only once yes. */
interface Approver {
  readonly yesAt: ReadonlyMap<string, number>
  stop(): Promise<void>
}

type PendingApproval = {
  readonly id: string
  readonly fingerprint: string
  readonly arguments: { readonly key: string }
}

function startApprover(url: () => string, calls: readonly PlannedCall[]): Approver {
  const yesAt = new Map<string, number>()
  const byKey = new Map(calls.map((call) => [call.key, call]))
  const firstSeen = new Map<string, number>()
  let isStopped = false
  /** A decision whose answer was lost is repeated for the same request: 409 tells that it counted. */
  const chosen = new Map<string, string>()
  const decide = async ({ id, fingerprint, arguments: { key } }: PendingApproval) => {
    const call = byKey.get(key)
    if (!call || call.answer === 'none') return
    const since = firstSeen.get(key) ?? performance.now()
    firstSeen.set(key, since)
    if (performance.now() - since < call.decideAfterMs) return
    if ((chosen.get(key) ?? id) !== id) return
    chosen.set(key, id)
    if (call.answer === 'yes' && !yesAt.has(key)) yesAt.set(key, performance.now())
    const verb = call.answer === 'yes' ? 'approve' : 'deny'
    const address = `${url()}/api/v0/approvals/${id}/${verb}`
    await request(address, 'POST', { fingerprint }, bearer(ADMIN)).catch(() => {})
  }
  const work = async () => {
    while (!isStopped) {
      const address = `${url()}/api/v0/approvals?status=pending&limit=1000`
      const found = await request(address, 'GET', undefined, bearer(ADMIN)).catch(() => undefined)
      if (found?.status === 200) await Promise.all((found.body as PendingApproval[]).map(decide))
      await delay(100)
    }
  }
  const done = work()
  return {
    yesAt,
    async stop() {
      isStopped = true
      await done
    }
  }
}

/** Returns the violations of a round. */
function problemsOf(
  calls: readonly PlannedCall[],
  { risky }: World,
  yesAt: ReadonlyMap<string, number>,
  seen: ReadonlyMap<string, CallOutcome>
): string[] {
  return calls.flatMap(({ key, way, answer }) => {
    const own = risky.reached.filter((each) => each.key === key)
    const [first] = own
    const at = yesAt.get(key)
    const name = `${key} (${way}, ${answer})`
    return [
      ...(own.length > 1 ? [`${name} ran ${own.length} times`] : []),
      ...(first && (at === undefined || first.at < at) ? [`${name} ran without its yes`] : []),
      ...(seen.get(key) === 'result' && !first ? [`${name} has a result and never ran`] : []),
      ...(seen.get(key) === 'unknown' && !first && answer === 'yes' && way === 'task' ? [`${name} is lost`] : [])
    ]
  })
}

async function runRound(world: World, random: () => number, round: number, size: number) {
  const { replicas, tokens } = world
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const calls = Array.from({ length: size }, (_, n): PlannedCall => {
    const way = pick(ways)
    const own = way === 'rest' ? tokens.rest : tokens.mcp
    return {
      ...{ key: `r${round}-${n}`, way, answer: random() < 0.6 ? 'yes' : pick(answers) },
      decideAfterMs: random() * 2_500,
      token: own[n % own.length]!
    }
  })
  const url = () => pick(replicas).url
  const approver = startApprover(url, calls)
  const ending = new AbortController()
  setMaxListeners(0, ending.signal)
  const seen = new Map<string, CallOutcome>()
  const made = calls.map(async (call) => {
    await delay(random() * 800)
    seen.set(call.key, await makeCall({ url }, call, ending.signal))
  })
  await delay(random() * 3_500)
  const at = Math.floor(random() * replicas.length)
  const victim = replicas[at]!
  const next = world.start()
  await victim.stop('SIGKILL')
  replicas.splice(at, 1)
  replicas.push(await next)
  // calls without a decision never end
  const decided = made.filter((_, n) => calls[n]!.answer !== 'none')
  await Promise.race([Promise.all(decided), delay(ROUND_MS)])
  ending.abort()
  await Promise.all(made)
  await approver.stop()
  return { calls, seen, yesAt: approver.yesAt, problems: problemsOf(calls, world, approver.yesAt, seen) }
}

export async function runChaos(t: TestContext, options: ChaosOptions): Promise<ChaosOutcome> {
  const { runs, seed, callsPerKill = 20, report = () => {} } = options
  const random = createRandom(seed)
  const world = await prepare(t, options, random)
  const seen: Record<string, number> = {}
  const problems: string[] = []
  let [kills, done, yeses] = [0, 0, 0]
  while (done < runs) {
    const size = Math.min(callsPerKill, runs - done)
    const round = await runRound(world, random, kills++, size)
    done += size
    yeses += round.yesAt.size
    problems.push(...round.problems)
    for (const { key, way } of round.calls) {
      const name = `${way}: ${round.seen.get(key) ?? 'unknown'}`
      seen[name] = (seen[name] ?? 0) + 1
    }
    report(
      `${kills} kills, ${done} of ${runs} calls, ${yeses} yeses, ${world.risky.reached.length} ran, ${problems.length} problems`
    )
  }
  return { kills, runs: done, reached: world.risky.reached.length, yeses, seen, problems }
}
