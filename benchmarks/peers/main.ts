import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { withBench, type Bench } from '../bench.ts'
import { compare, type Candidate, type Measurement } from '../compare.ts'
import { withSection } from '../page.ts'
import { interleaved, median } from '../statistics.ts'
import { markdown } from '../table.ts'
import { allPeers, type Peer } from './peers.ts'
import { prepare, treeCpuMs, treeRssMib, type Running, type Startable } from './run.ts'
import { towpath } from './towpath.ts'
import { startRaw, upstreamOf, variantsOf, works, type Work } from './works.ts'

const FILE = fileURLToPath(new URL('../../docs/reference/performance.md', import.meta.url))
const SECTION = 'Beside other gateways'
const RAW = 'raw Node.js proxy'
const RAW_SESSIONS = `${RAW}, a session for each call`
const ROUNDS = 15
const STARTS = 5
const IDLE_MS = 3_000
const NONE = '–'

interface Cell {
  readonly cpu: string
  readonly rate: string
  readonly p50: string
}

/** Cells of one work by name of the gateway. */
type Line = ReadonlyMap<string, Cell>

const reason = (error: unknown) => `failed: ${(error as Error).message.replace(/\s+/g, ' ').slice(0, 120)}`
const failedCell = (text: string): Cell => ({ cpu: text, rate: text, p50: text })
const whole = (value: number) => Math.round(value).toLocaleString('en')

function cellOf({ cpuUs, perSecond, p50, errors, sample }: Measurement): Cell {
  if (errors > 0) return failedCell(`failed: ${errors} errors, ${sample.slice(0, 80)}`)
  return {
    cpu: `${whole(median(cpuUs))} µs`,
    rate: whole(median(perSecond)),
    p50: `${median(p50).toFixed(median(p50) < 10 ? 2 : 0)} ms`
  }
}

const peersFor = ({ kind, hasPeers = true }: Work) =>
  hasPeers ? allPeers().filter(({ kinds }) => kinds.includes(kind)) : []

const isTheFirst = <T>(value: T, index: number, all: readonly T[]) => all.indexOf(value) === index

/** Measures one work at all gateways in one interleaved run; a gateway that cannot do it has the reason in its cell. */
async function measure(bench: Bench, work: Work): Promise<Line> {
  const server = await bench.target('upstream.ts')
  const upstream = upstreamOf(work, server)
  const line = new Map<string, Cell>()
  const candidates: Candidate[] = []
  const add = async (name: string, start: () => Promise<Running>) => {
    try {
      const running = await start()
      const { pid } = running
      candidates.push({ name, pid, target: await work.target(running), cpuMs: () => treeCpuMs(pid) })
    } catch (error) {
      line.set(name, failedCell(reason(error)))
      console.error(`${name}: ${reason(error)}`)
    }
  }
  for (const peer of [...variantsOf(work), ...peersFor(work)])
    await add(peer.name, async () => (await prepare(bench, peer, upstream)).start())
  if (work.hasRaw) await add(RAW, () => startRaw(bench, server, work.path!, 'client'))
  if (work.hasRawSessions) await add(RAW_SESSIONS, () => startRaw(bench, server, work.path!, 'each'))
  for (const measured of await compare(bench, candidates, { rounds: ROUNDS })) line.set(measured.name, cellOf(measured))
  return line
}

interface Starts {
  readonly startable: Startable
  readonly ms: number[]
  readonly rssMib: number[]
}

/** Measures the start to the first right call, and the memory three seconds after it. */
async function measureStarts(bench: Bench): Promise<ReadonlyMap<string, { ms: string; memory: string }>> {
  const server = await bench.target('upstream.ts')
  const cells = new Map<string, { ms: string; memory: string }>()
  const all: Starts[] = []
  const fail = (name: string, error: unknown) => {
    console.error(`${name}: ${reason(error)}`)
    cells.set(name, { ms: reason(error), memory: NONE })
  }
  const prepareOne = async (peer: Peer) => {
    const kind = peer.kinds.includes('http') ? 'http' : 'stdio'
    try {
      const startable = await prepare(bench, peer, upstreamOf({ kind, path: '/legacy/mcp' }, server))
      all.push({ startable, ms: [], rssMib: [] })
    } catch (error) {
      fail(peer.name, error)
    }
  }
  for (const peer of [towpath({ name: 'Towpath' }), ...allPeers()]) await prepareOne(peer)
  for (let round = 0; round < (bench.isQuick ? 1 : STARTS); round++) {
    for (const { startable, ms, rssMib } of interleaved(all, round)) {
      try {
        const running = await startable.start()
        ms.push(running.ms)
        await delay(bench.isQuick ? 0 : IDLE_MS)
        rssMib.push(treeRssMib(running.pid))
        await running.stop()
      } catch (error) {
        fail(startable.name, error)
      }
    }
  }
  for (const { startable, ms, rssMib } of all) {
    if (!cells.has(startable.name))
      cells.set(startable.name, { ms: whole(median(ms)), memory: `${whole(median(rssMib))} MiB` })
  }
  return cells
}

const limitedRun = async <T>(isQuick: boolean, run: (bench: Bench) => Promise<T>): Promise<T> =>
  withBench({ isQuick, postgresUrl: undefined }, run)

/** Returns the section of the page: three tables of the same calls, and one of starts. */
function section(lines: readonly Line[], starts: ReadonlyMap<string, { ms: string; memory: string }>): string {
  const names = lines.flatMap((line) => [...line.keys()]).filter(isTheFirst)
  const tableOf = (pick: (cell: Cell) => string) =>
    markdown(
      ['Gateway', ...works.map(({ title }) => title)],
      names.map((name) => [name, ...lines.map((line) => (line.has(name) ? pick(line.get(name)!) : NONE))])
    )
  const startTable = markdown(
    ['Gateway', 'Start to the first right call, ms', 'Memory three seconds later'],
    [...starts].map(([name, { ms, memory }]) => [name, ms, memory])
  )
  const about = allPeers()
    .map((peer) => peer.about)
    .filter(isTheFirst)
  return [
    `Calls a second that one core does, 16 connections unless it says otherwise; a dash where a program has no such interface:`,
    `<!-- prettier-ignore -->\n${tableOf(({ rate }) => rate)}`,
    `Milliseconds of one of these calls, the middle of all, while the core is busy:`,
    `<!-- prettier-ignore -->\n${tableOf(({ p50 }) => p50)}`,
    `CPU time of the gateway per call, with all its processes and without the servers:`,
    `<!-- prettier-ignore -->\n${tableOf(({ cpu }) => cpu)}`,
    `Starts and memory, before any further call:`,
    `<!-- prettier-ignore -->\n${startTable}`,
    `Towpath runs with its defaults, on the embedded store. The others: ${about.join(', ')}.`
  ].join('\n\n')
}

/** Measures Towpath beside the peers, prints the section, and writes it to the page of a whole run. */
export async function measurePeers(isQuick: boolean, about: readonly string[]): Promise<void> {
  const lines: Line[] = []
  for (const work of works) {
    lines.push(await limitedRun(isQuick, (bench) => measure(bench, work)))
    console.error(`${work.title}: measured`)
  }
  const tables = section(lines, await limitedRun(isQuick, measureStarts))
  const day = new Date().toISOString().slice(0, 10)
  const machine = about.map((line) => `- ${line}`).join('\n')
  const text = `One interleaved run of \`npm run bench -- --peers\` on ${day}:\n\n${machine}\n\n${tables}`
  console.log(text)
  if (!isQuick) await writeFile(FILE, withSection(await readFile(FILE, 'utf8'), SECTION, text, true))
}
