import type { Bench, Gateway } from '../bench.ts'
import { compare, type Measurement } from '../compare.ts'
import type { Outcome } from '../outcome.ts'
import { ask, modernRequest, target, times, type Params } from '../requests.ts'
import { CONNECTIONS, cpuOutcome, type Row } from './row.ts'

const MARKER = '"readOnlyHint":true'
const json = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }

interface Page {
  readonly result: { readonly tools: readonly object[]; readonly nextCursor?: string }
}

/** Returns the parameters of every page of the gateway's list, and the byte size of the smallest page. */
async function pages({ mcp }: Gateway, count: number): Promise<{ asked: Params[]; minBytes: number }> {
  const asked: Params[] = []
  let minBytes = Infinity
  let tools = 0
  let params: Params | undefined = {}
  while (params) {
    asked.push(params)
    const text: string = await (
      await ask(mcp, 'POST', json, { jsonrpc: '2.0', id: 1, method: 'tools/list', params })
    ).text()
    const { result } = JSON.parse(text) as Page
    minBytes = Math.min(minBytes, text.length)
    tools += result.tools.length
    params = result.nextCursor === undefined ? undefined : { cursor: result.nextCursor }
  }
  if (tools !== count) throw new Error(`${tools} of ${count} tools are listed`)
  return { asked, minBytes }
}

async function listOutcome(bench: Bench, count: number): Promise<Outcome> {
  const upstream = await bench.target('upstream.ts')
  const gateway = await bench.gateway()
  const { register, url, mcp, pid } = gateway
  await register('bench', { transport: 'streamable_http', url: `${upstream.url}/mcp?tools=${count}` })
  const { asked, minBytes } = await pages(gateway, count)
  const ready = await bench.target('ready-list.ts', { TOOLS: String(count), PAGES: String(asked.length) }, true)
  const connections = times(Math.max(CONNECTIONS, asked.length), (index) => asked[index % asked.length]!)
  const to = (base: string, path: string) =>
    target(
      base,
      connections.map((params) => modernRequest(path, 'tools/list', params)),
      MARKER,
      minBytes * 0.95
    )
  const candidates = [
    { name: 'gateway', pid, target: to(url, mcp) },
    { name: 'ready bytes', pid: ready.pid, target: to(ready.url, ready.url) }
  ]
  const [one, other] = (await compare(bench, candidates)) as [Measurement, Measurement]
  const paged = asked.length > 1 ? `, ${asked.length} pages` : ''
  const work = `\`tools/list\` with ${count.toLocaleString('en')} tools${paged}`
  return cpuOutcome({ row: 8, work, reference: 'ready bytes', atMost: 1.15 }, one, other)
}

export const lists: Row = {
  numbers: [8],
  work: '`tools/list` with 1,000 and 10,000 tools',
  limitSeconds: 90,
  run: async (bench) => [await listOutcome(bench, 1_000), await listOutcome(bench, 10_000)]
}
