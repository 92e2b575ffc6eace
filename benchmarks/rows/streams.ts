import { compare, type Measurement } from '../compare.ts'
import { calls, modernRequest, times } from '../requests.ts'
import { CONNECTIONS, cpuOutcome, type Row } from './row.ts'

const work = 'upstream that answers by event stream with progress'

const params = (name: string) => ({ name, arguments: { message: 'hello' }, _meta: { progressToken: 1 } })

export const streams: Row = {
  numbers: [9],
  work,
  limitSeconds: 45,
  async run(bench) {
    const upstream = await bench.target('upstream.ts')
    const raw = await bench.target('raw-proxy.ts', { UPSTREAM: upstream.url }, true)
    const { pid, url, mcp, register } = await bench.gateway()
    await register('bench', { transport: 'streamable_http', url: `${upstream.url}/events/mcp` })
    const throughGateway = modernRequest(mcp, 'tools/call', params('bench__echo'))
    const throughRaw = modernRequest(`${raw.url}/events/mcp`, 'tools/call', params('echo'))
    const candidates = [
      {
        name: 'gateway',
        pid,
        target: calls(
          url,
          times(CONNECTIONS, () => throughGateway)
        )
      },
      {
        name: 'raw',
        pid: raw.pid,
        target: calls(
          raw.url,
          times(CONNECTIONS, () => throughRaw)
        )
      }
    ]
    const [one, other] = (await compare(bench, candidates)) as [Measurement, Measurement]
    return [cpuOutcome({ row: 9, work, reference: 'raw byte proxy', atMost: 2 }, one, other)]
  }
}
