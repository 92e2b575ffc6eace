import type { Bench, Gateway, ServerHandle } from '../bench.ts'
import { compare, errorsOf, figures, speedRatio, type Candidate, type Measurement } from '../compare.ts'
import type { Outcome } from '../outcome.ts'
import { calls, legacyRequest, modernRequest, openSessions, times } from '../requests.ts'
import { CONNECTIONS, cpuOutcome, type Row } from './row.ts'

const TOOL = 'bench__echo'
const reference = 'raw byte proxy'

interface Both {
  readonly gateway: Gateway
  readonly raw: ServerHandle
}

async function startBoth(bench: Bench): Promise<Both> {
  const upstream = await bench.target('upstream.ts')
  const raw = await bench.target('raw-proxy.ts', { UPSTREAM: upstream.url }, true)
  const gateway = await bench.gateway()
  await gateway.register('bench', { transport: 'streamable_http', url: `${upstream.url}/mcp` })
  return { gateway, raw }
}

const params = (name: string, size: number) => ({ name, arguments: { message: 'hello', size } })

function modern(name: string, { pid, url }: ServerHandle, tool: string, size: number): Candidate {
  const request = modernRequest(`${url}/mcp`, 'tools/call', params(tool, size))
  return {
    name,
    pid,
    target: calls(
      url,
      times(CONNECTIONS, () => request),
      size
    )
  }
}

async function legacy(name: string, { pid, url, mcp }: Gateway, size: number): Promise<Candidate> {
  const sessions = await openSessions(mcp, CONNECTIONS)
  const requests = sessions.map((headers) => legacyRequest(mcp, 'tools/call', params(TOOL, size), headers))
  return { name, pid, target: calls(url, requests, size) }
}

function smallOutcomes(era: string, one: Measurement, raw: Measurement): Outcome[] {
  const work = `\`tools/call\` 200 B, 16 connections, ${era} client`
  return [
    cpuOutcome({ row: 1, work, reference, atMost: 1.35 }, one, raw),
    {
      row: 1,
      work,
      reference,
      measure: 'throughput',
      goal: { atLeast: 0.8, unit: '×' },
      value: speedRatio(one, raw),
      unit: '×',
      errors: errorsOf(one, raw),
      note: figures(one, raw)
    }
  ]
}

export const smallCalls: Row = {
  numbers: [1],
  work: '`tools/call` 200 B, 16 connections',
  limitSeconds: 60,
  async run(bench) {
    const { gateway, raw } = await startBoth(bench)
    const candidates = [
      modern('modern', gateway, TOOL, 200),
      await legacy('legacy', gateway, 200),
      modern('raw', raw, 'echo', 200)
    ]
    const [ofModern, ofLegacy, ofRaw] = (await compare(bench, candidates)) as [Measurement, Measurement, Measurement]
    return [...smallOutcomes('modern', ofModern, ofRaw), ...smallOutcomes('legacy', ofLegacy, ofRaw)]
  }
}

const sizes = [
  { size: 10_000, label: '10 kB', atMost: 1.3 },
  { size: 1_000_000, label: '1 MB', atMost: 1.1 }
]

export const largeCalls: Row = {
  numbers: [2],
  work: '`tools/call` 10 kB and 1 MB',
  limitSeconds: 90,
  async run(bench) {
    const { gateway, raw } = await startBoth(bench)
    const outcomes: Outcome[] = []
    for (const { size, label, atMost } of sizes) {
      const candidates = [modern('gateway', gateway, TOOL, size), modern('raw', raw, 'echo', size)]
      const [one, other] = (await compare(bench, candidates)) as [Measurement, Measurement]
      outcomes.push(cpuOutcome({ row: 2, work: `\`tools/call\` ${label}`, reference, atMost }, one, other))
    }
    return outcomes
  }
}
