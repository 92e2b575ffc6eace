import { compare, type Measurement } from '../compare.ts'
import { calls, modernRequest, restRequest, times } from '../requests.ts'
import { CONNECTIONS, cpuOutcome, type Row } from './row.ts'

const args = { message: 'hello', size: 200 }

export const restCalls: Row = {
  numbers: [4],
  work: 'REST `tools/invoke` 200 B',
  limitSeconds: 45,
  async run(bench) {
    const upstream = await bench.target('upstream.ts')
    const { pid, url, mcp, register } = await bench.gateway()
    await register('bench', { transport: 'streamable_http', url: `${upstream.url}/mcp` })
    const rest = restRequest(url, 'bench__echo', args)
    const call = modernRequest(mcp, 'tools/call', { name: 'bench__echo', arguments: args })
    const candidates = [
      {
        name: 'REST',
        pid,
        target: calls(
          url,
          times(CONNECTIONS, () => rest)
        )
      },
      {
        name: 'MCP',
        pid,
        target: calls(
          url,
          times(CONNECTIONS, () => call)
        )
      }
    ]
    const [one, other] = (await compare(bench, candidates)) as [Measurement, Measurement]
    return [
      cpuOutcome({ row: 4, work: 'REST `tools/invoke` 200 B', reference: '`tools/call`', atMost: 1.1 }, one, other)
    ]
  }
}
