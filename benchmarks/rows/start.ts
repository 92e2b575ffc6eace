import { setTimeout as delay } from 'node:timers/promises'
import { isUp, startGateway, startPlain, type Bench, type StoreLocation } from '../bench.ts'
import { freePort } from '../../test/ports.ts'
import type { Outcome } from '../outcome.ts'
import { rssKib, type ManagedProcess } from '../processes.ts'
import { interleaved, median, medianRatio } from '../statistics.ts'
import type { Row } from './row.ts'

const STARTS = 5
const IDLE_STARTS = 3
const QUICK_STARTS = 2
const IDLE_MS = 3_000
/** Much shorter than a start takes. */
const POLL_MS = 2

interface Subject {
  readonly name: 'bare' | 'PostgreSQL' | 'embedded'
  start(port: number): ManagedProcess
  readonly ms: number[]
  readonly rssMib: number[]
}

/** Returns the milliseconds from the start of the process to its first 200 response. */
async function timed(process: ManagedProcess, url: string): Promise<number> {
  const begun = performance.now()
  const isOver = async () => process.child.exitCode !== null || (await isUp(url).catch(() => false))
  while (!(await isOver())) await delay(POLL_MS)
  if (process.child.exitCode !== null) throw new Error(`a process has ended: ${process.errors()}`)
  return performance.now() - begun
}

async function measure({ start, ms, rssMib }: Subject, idleMs: number): Promise<void> {
  const port = await freePort()
  const process = start(port)
  try {
    ms.push(await timed(process, `http://127.0.0.1:${port}/health`))
    await delay(idleMs)
    rssMib.push(rssKib(process.pid) / 1_024)
  } finally {
    await process.stop()
  }
}

const subject = (name: Subject['name'], start: Subject['start']): Subject => ({ name, start, ms: [], rssMib: [] })
const onPlace = (name: Subject['name'], place: StoreLocation) => subject(name, (port) => startGateway(port, place))

async function measureAll(bench: Bench, count: number, idleMs: number): Promise<Subject[]> {
  const bare = subject('bare', (port) => startPlain('bare-fastify.mjs', port))
  const gateways = [
    ...(bench.hasPostgres ? [onPlace('PostgreSQL', await bench.place('postgres'))] : []),
    onPlace('embedded', await bench.place('embedded'))
  ]
  // the first start creates the schema
  for (const { name, start } of gateways) await measure(subject(name, start), 0)
  const subjects = [bare, ...gateways]
  for (let round = 0; round < (bench.isQuick ? QUICK_STARTS : count); round++) {
    for (const each of interleaved(subjects, round)) await measure(each, idleMs)
  }
  return subjects
}

const label = { bare: 'bare Fastify', PostgreSQL: 'PostgreSQL', embedded: 'embedded store, opened again' }

export const starts: Row = {
  numbers: [12],
  work: 'start to `/health`',
  limitSeconds: 90,
  async run(bench) {
    const [bare, ...gateways] = (await measureAll(bench, STARTS, 0)) as [Subject, ...Subject[]]
    return gateways.map(({ name, ms }): Outcome => ({
      row: 12,
      work: `start to \`/health\`, ${label[name]}`,
      reference: 'bare Fastify',
      measure: 'time',
      goal: { atMost: name === 'embedded' ? 6 : 3, unit: '×' },
      value: medianRatio(ms, bare.ms),
      unit: '×',
      errors: 0,
      note: `${median(ms).toFixed(0)} ms, bare ${median(bare.ms).toFixed(0)} ms`
    }))
  }
}

export const idleMemory: Row = {
  numbers: [13],
  work: 'idle resident memory',
  limitSeconds: 120,
  async run(bench) {
    const [bare, ...gateways] = (await measureAll(bench, IDLE_STARTS, IDLE_MS)) as [Subject, ...Subject[]]
    return gateways.map(({ name, rssMib }): Outcome => {
      const note = `${median(rssMib).toFixed(0)} MiB, bare ${median(bare.rssMib).toFixed(0)} MiB`
      const shared = {
        row: 13,
        work: `idle resident memory, ${label[name]}`,
        reference: 'bare Fastify',
        errors: 0,
        note
      }
      if (name === 'embedded') return { ...shared, measure: 'RSS', value: median(rssMib), unit: 'MiB' }
      const value = medianRatio(rssMib, bare.rssMib)
      return { ...shared, measure: 'RSS', goal: { atMost: 1.6, unit: '×' }, value, unit: '×' }
    })
  }
}
