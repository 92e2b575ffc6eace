// Measures the cost of a call against another checkout of the gateway, and the cost of the search for secrets.
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/postgres.ts'
import { type Bench, type Gateway, withBench } from './bench.ts'
import { oldReader, readingCosts } from './reading-cost.ts'
import { compare, type Candidate, type CompareOptions, errorsOf, type Measurement } from './compare.ts'
import { load, machine } from './machine.ts'
import { onSharedCore, pinSelf } from './processes.ts'
import {
  calls,
  legacyRequest,
  modernParts,
  modernRequest,
  openSessions,
  times,
  withTasks,
  type Params
} from './requests.ts'
import { median, percentile } from './statistics.ts'
import { markdown } from './table.ts'
import { echoResult, type Text } from './targets/tools.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const CONNECTIONS = 4
/** `requests` per round; about a tenth of a second of CPU, longer for 1 MB, whose garbage is collected in large steps. */
const allSizes = [
  { size: 200, label: '200 B', requests: 1_000 },
  { size: 10_000, label: '10 kB', requests: 800 },
  { size: 1_000_000, label: '1 MB', requests: 240 }
]
/** Small calls before the first measured one, so that hot code is compiled. */
const WARM_UP = 5_000
const LONGEST_ROUND_MS = 20_000
const texts: readonly Text[] = ['plain', 'escapes', 'unicode']
const servers = ['modern', 'legacy', 'stdio'] as const
type Server = (typeof servers)[number]
/** Numbers of secrets configured for the called server. */
const secretCounts = [0, 1, 5]

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    only: { type: 'string' },
    rounds: { type: 'string', default: '9' },
    size: { type: 'string' },
    write: { type: 'string' }
  }
})
const sizes = allSizes.filter(({ size }) => options.size === undefined || Number(options.size) === size)
const timing = (requests: number): CompareOptions => ({
  rounds: Number(options.rounds),
  ms: LONGEST_ROUND_MS,
  requests
})
const isWanted = (name: string) => options.only === undefined || options.only.split(',').includes(name)

/** A secret as long and random as a real token. */
const secret = (index: number) => `tk_${index}${'h7Qz9LmX2vB4nR8wK1sD6fY3'.slice(index)}${'Ju5Tp0Ce'.repeat(2)}`
const headers = (count: number) => Object.fromEntries(times(count, (i) => [`x-key-${i}`, secret(i)]))

interface Upstreams {
  readonly http: string
  readonly command: string
  readonly args: readonly string[]
}

async function startUpstreams(bench: Bench): Promise<Upstreams> {
  const { url } = await bench.target('upstream.ts')
  const folder = join((await bench.place('embedded')).dataDir, 'results')
  await mkdir(folder)
  for (const { size } of sizes) {
    for (const text of texts) await writeFile(join(folder, `${text}-${size}`), echoResult(size, text))
  }
  const [command, ...args] = onSharedCore([process.execPath, here('targets/stdio-server.mjs'), folder])
  return { http: url, command, args }
}

async function register(gateway: Gateway, { http, command, args }: Upstreams): Promise<Gateway> {
  for (const count of secretCounts) {
    await gateway.register(`modern${count}`, {
      transport: 'streamable_http',
      url: `${http}/mcp`,
      ...(count > 0 && { headers: headers(count) })
    })
  }
  await gateway.register('legacy0', { transport: 'streamable_http', url: `${http}/legacy/mcp` })
  await gateway.register('stdio0', { transport: 'stdio', command, args, session_mode: 'stateful' })
  return gateway
}

/** Returns a candidate that calls a tool with such a result over keep-alive connections. */
async function candidate(
  name: string,
  { pid, url, mcp }: Gateway,
  server: string,
  text: Text,
  size: number,
  _meta = {}
): Promise<Candidate> {
  const params = { name: `${server}__echo`, arguments: { message: 'hello', size, text }, _meta }
  // the process of a stateful server belongs to one session
  const requests = server.startsWith('stdio')
    ? (await openSessions(mcp, CONNECTIONS)).map((own) => legacyRequest(mcp, 'tools/call', params, own))
    : times(CONNECTIONS, () => modernRequest(mcp, 'tools/call', params))
  return { name, pid, target: calls(url, requests, size) }
}

const us = (value: number) => (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0))
const cost = ({ cpuUs }: Measurement) => `${us(median(cpuUs))} µs`
/** Formats the median ratio over the rounds, with the range that holds four fifths of them. */
function ratio(one: Measurement, other: Measurement): string {
  const all = one.cpuUs.map((value, round) => value / other.cpuUs[round]!)
  const at = (percent: number) => percentile(all, percent).toFixed(2)
  return `${at(50)}× (${at(10)} to ${at(90)})`
}

async function warmUp(bench: Bench, gateways: readonly Gateway[], server: string): Promise<void> {
  const load = await bench.load()
  for (const [index, gateway] of gateways.entries()) {
    const { target } = await candidate('warm', gateway, server, 'plain', 200)
    const round = await load({ key: String(index), target, ms: 2 * LONGEST_ROUND_MS, most: WARM_UP })
    if (round.errors > 0) throw new Error(`${server}: ${round.sample}`)
  }
}

/** Returns a table line per text and size: the other checkout and this one. */
async function againstOther(bench: Bench, other: Gateway, own: Gateway, server: Server): Promise<string[][]> {
  const lines: string[][] = []
  await warmUp(bench, [other, own], `${server}0`)
  for (const { size, label, requests } of sizes) {
    for (const text of texts) {
      const [before, after] = (await compare(
        bench,
        [
          await candidate('other', other, `${server}0`, text, size),
          await candidate('own', own, `${server}0`, text, size)
        ],
        timing(requests)
      )) as [Measurement, Measurement]
      const errors = errorsOf(before, after)
      lines.push([server, label, text, cost(before), cost(after), ratio(after, before), String(errors)])
      console.error(lines.at(-1)!.join(' | '))
    }
  }
  return lines
}

/** Returns a table line per text and size: search for no, one and five secrets, against no search. */
async function secrets(bench: Bench, off: Gateway, redact: Gateway): Promise<string[][]> {
  const lines: string[][] = []
  await warmUp(bench, [off, redact], 'modern5')
  for (const { size, label, requests } of sizes) {
    for (const text of texts) {
      const candidates = [await candidate('off', off, 'modern5', text, size)]
      for (const count of secretCounts) {
        candidates.push(await candidate(`${count}`, redact, `modern${count}`, text, size))
      }
      const [unsearched, ...searched] = (await compare(bench, candidates, timing(requests))) as [
        Measurement,
        ...Measurement[]
      ]
      lines.push([
        label,
        text,
        cost(unsearched),
        ...searched.map((one) => `${ratio(one, unsearched)}`),
        String(errorsOf(unsearched, ...searched))
      ])
      console.error(lines.at(-1)!.join(' | '))
    }
  }
  return lines
}

/** Returns a candidate that polls ended tasks with such a result, one for each connection, so that none are shared. */
async function poller({ pid, url, mcp }: Gateway, text: Text, size: number): Promise<Candidate> {
  const params = { name: 'modern0__echo', arguments: { task: true, size, text }, _meta: withTasks }
  const requests: string[] = []
  for (let i = 0; i < CONNECTIONS; i++) {
    const taskId = await startTask(mcp, params)
    requests.push(modernRequest(mcp, 'tasks/get', { taskId, _meta: withTasks }))
  }
  return { name: 'tasks/get', pid, target: calls(url, requests, size) }
}

/** Calls a tool and returns the id of the task that it starts. */
async function startTask(mcp: string, params: Params): Promise<string> {
  const answer = await fetch(mcp, { method: 'POST', ...modernParts('tools/call', params) })
  const { result } = (await answer.json()) as { result: { taskId: string } }
  return result.taskId
}

/**
 * Returns a table line per text and size: polling a task whose result is as large as that of the call. The two are made
 * at gateways of their own, else one pays for the garbage of the other.
 */
async function tasks(bench: Bench, own: Gateway, polledGateway: Gateway): Promise<string[][]> {
  const lines: string[][] = []
  await warmUp(bench, [own, polledGateway], 'modern0')
  for (const { size, label, requests } of sizes) {
    for (const text of texts) {
      const candidates = [
        await candidate('tools/call', own, 'modern0', text, size, withTasks),
        await poller(polledGateway, text, size)
      ]
      const [called, polled] = (await compare(bench, candidates, timing(requests))) as [Measurement, Measurement]
      lines.push([label, text, cost(called), cost(polled), ratio(polled, called), String(errorsOf(called, polled))])
      console.error(lines.at(-1)!.join(' | '))
    }
  }
  return lines
}

/** Returns a table line per text and size: parsing alone, in this process. */
async function reading(against: string | undefined): Promise<string[][]> {
  const old = against === undefined ? undefined : await oldReader(against)
  const secretsOf = secretCounts.map((count) => times(count, secret))
  const lines: string[][] = []
  for (const { size, label } of sizes) {
    for (const text of texts) {
      const { before, now, checks, searches } = readingCosts(echoResult(size, text), old, secretsOf)
      lines.push([label, text, ...[before, now, checks, ...searches].map((value) => `${us(value)} µs`)])
      console.error(lines.at(-1)!.join(' | '))
    }
  }
  return lines
}

const readingColumns = [
  'Result',
  'Text',
  'Reading before',
  'Reading now',
  'of it, checks',
  'Search for no secret',
  '1 secret',
  '5 secrets'
]
const comparedColumns = ['Server', 'Result', 'Text', 'Before', 'Now', 'Now ÷ before', 'Errors']
const taskColumns = ['Result', 'Text', '`tools/call`', '`tasks/get`', 'tasks/get ÷ tools/call', 'Errors']
const secretColumns = ['Result', 'Text', 'Not searched', 'No secret', '1 secret', '5 secrets', 'Errors']

async function measure(bench: Bench, against: string | undefined): Promise<string[]> {
  const parts = isWanted('reading') ? [markdown(readingColumns, await reading(against))] : []
  if (options.only === 'reading') return parts
  const upstreams = await startUpstreams(bench)
  const start = async () => register(await bench.gateway({ env: { TOWPATH_RESULT_SECRETS: 'redact' } }), upstreams)
  const own = await start()
  if (against !== undefined) {
    const other = await register(await bench.gateway({ checkout: against }), upstreams)
    const lines: string[][] = []
    for (const server of servers.filter(isWanted)) lines.push(...(await againstOther(bench, other, own, server)))
    parts.push(markdown(comparedColumns, lines))
    await other.stop()
  }
  if (isWanted('tasks')) parts.push(markdown(taskColumns, await tasks(bench, own, await start())))
  if (isWanted('secrets')) {
    const off = await register(await bench.gateway({ env: { TOWPATH_RESULT_SECRETS: 'off' } }), upstreams)
    parts.push(markdown(secretColumns, await secrets(bench, off, own)))
  }
  return parts
}

async function main(): Promise<void> {
  const against = options.against === undefined ? undefined : resolve(options.against)
  for (const checkout of [here('..'), ...(against ? [against] : [])]) {
    if (!existsSync(join(checkout, 'dist/src/cli/main.js')))
      throw new Error(`build first: npm run build in ${checkout}`)
  }
  const before = load()
  const isPinned = pinSelf()
  const postgres = await startPostgres(process.env)
  try {
    const parts = await withBench({ isQuick: false, postgresUrl: postgres?.url }, (bench) => measure(bench, against))
    const about = [
      ...machine(isPinned, undefined),
      `Load of the machine: ${before.toFixed(1)} before, ${load().toFixed(1)} after`
    ]
    const report = `${about.map((line) => `- ${line}`).join('\n')}\n\n${parts.join('\n\n')}\n`
    console.log(report)
    if (options.write !== undefined) await writeFile(options.write, report)
  } finally {
    await postgres?.stop()
  }
}

await main()
