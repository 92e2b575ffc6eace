import { isUp, startGateway, type Bench, type Gateway, type StoreLocation } from '../bench.ts'
import { freePort } from '../../test/ports.ts'
import type { Round } from '../load.ts'
import type { Outcome } from '../outcome.ts'
import { calls, modernRequest, times } from '../requests.ts'
import { median } from '../statistics.ts'
import { until } from '../../test/until.ts'
import { client, enterpriseGateway, enterpriseOptions } from './enterprise-gateway.ts'
import { inTurns } from './in-turns.ts'
import type { Row } from './row.ts'

const TOOLS = 20
const full = { servers: 1_000, groups: 200, clients: 500 }
const quick = { servers: 50, groups: 10, clients: 25 }
const WRITES = 20
const QUICK_WRITES = 6
const STARTS = 3
const PER_SECOND = 100

const nameOf = (index: number) => `server_${index}`

async function fill({ register, admin }: Gateway, upstreamUrl: string, size: typeof full): Promise<void> {
  const url = `${upstreamUrl}/mcp?tools=${TOOLS}`
  await inTurns(size.servers, (index) => register(nameOf(index), { transport: 'streamable_http', url }))
  const some = (index: number, count: number) => times(count, (offset) => nameOf((index + offset) % size.servers))
  const make = async (path: string, body: object) => (await admin('POST', path, body)).text()
  await inTurns(size.groups, (index) =>
    make('/tool-groups', { name: `group_${index}`, included_servers: some(index, 10) })
  )
  await inTurns(size.clients, (index) => make('/clients', { name: `client_${index}`, allowed_servers: some(index, 5) }))
}

/**
 * Returns the milliseconds of each write until its response, which arrives once the serving catalog includes the
 * server.
 */
async function write({ admin }: Gateway, count: number): Promise<number[]> {
  const took: number[] = []
  for (let index = 0; index < count; index++) {
    const verb = index % 2 === 0 ? 'disable' : 'enable'
    const begun = performance.now()
    await (await admin('POST', `/tools/${verb}?entity=${nameOf(index)}__tool_1`)).text()
    took.push(performance.now() - begun)
  }
  return took
}

interface SwapTimes {
  readonly took: readonly number[]
  readonly during: Round
  readonly before: Round
}

async function swaps(bench: Bench, gateway: Gateway): Promise<SwapTimes> {
  const request = modernRequest(
    gateway.mcp,
    'tools/call',
    { name: 'bench__echo', arguments: { message: 'hi' } },
    client
  )
  const target = calls(
    gateway.url,
    times(8, () => request)
  )
  const load = await bench.load()
  const order = { key: 'gateway', target, perSecond: PER_SECOND, ms: bench.isQuick ? 2_000 : 5_000 }
  await load(order)
  const before = await load(order)
  const [during, took] = await Promise.all([load(order), write(gateway, bench.isQuick ? QUICK_WRITES : WRITES)])
  return { before, during, took }
}

async function startMs(place: StoreLocation): Promise<number> {
  const port = await freePort()
  const begun = performance.now()
  const process = startGateway(port, place, enterpriseOptions().env)
  try {
    await until('the gateway to be ready', () => isUp(`http://127.0.0.1:${port}/ready`))
    return performance.now() - begun
  } finally {
    await process.stop()
  }
}

async function starts(bench: Bench, filled: StoreLocation): Promise<{ loaded: number; empty: number }> {
  const emptyPlace = await bench.place()
  await startMs(emptyPlace)
  const loaded: number[] = []
  const empty: number[] = []
  for (let round = 0; round < STARTS; round++) {
    loaded.push(await startMs(filled))
    empty.push(await startMs(emptyPlace))
  }
  return { loaded: median(loaded), empty: median(empty) }
}

export const registrySize: Row = {
  numbers: [11],
  work: 'registry of 1,000 servers, 20,000 tools, 200 groups, 500 clients',
  limitSeconds: 180,
  async run(bench) {
    const size = bench.isQuick ? quick : full
    const upstream = await bench.target('upstream.ts')
    const place = await bench.place()
    const gateway = await enterpriseGateway(bench, upstream.url, {}, place)
    const begun = performance.now()
    await fill(gateway, upstream.url, size)
    const filledIn = (performance.now() - begun) / 1_000
    const { took, during, before } = await swaps(bench, gateway)
    await gateway.stop()
    const { loaded, empty } = await starts(bench, place)
    const tools = (size.servers * TOOLS).toLocaleString('en')
    const shared = {
      row: 11,
      work: `registry of ${size.servers.toLocaleString('en')} servers, ${tools} tools, ${size.groups} groups, ${size.clients} clients`,
      reference: '–',
      unit: 'ms',
      errors: before.errors + during.errors
    } as const
    return [
      {
        ...shared,
        measure: 'a write until it is served (transaction and catalog swap)',
        goal: { atMost: 150, unit: 'ms' },
        value: median(took),
        note: `slowest of ${took.length}: ${Math.max(...took).toFixed(0)} ms; filled in ${filledIn.toFixed(0)} s`
      },
      {
        ...shared,
        measure: 'longest call while catalogs are swapped',
        goal: { atMost: 20, unit: 'ms' },
        value: during.maxMs,
        note: `at ${PER_SECOND} calls/s; ${before.maxMs.toFixed(1)} ms without writes${during.sample}`
      },
      {
        ...shared,
        measure: 'start of the process to `/ready`',
        goal: { atMost: 2_000, unit: 'ms' },
        value: loaded,
        note: `with an empty registry ${empty.toFixed(0)} ms`
      }
    ] satisfies Outcome[]
  }
}
