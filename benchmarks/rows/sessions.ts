import { compare, errorsOf, figures, type Measurement } from '../compare.ts'
import { calls, legacyRequest, openSessions } from '../requests.ts'
import { medianRatio } from '../statistics.ts'
import type { Row } from './row.ts'

const PER_SECOND = 20
const CALLERS = 4
const work = 'legacy upstream with sessions, `stateless` mode, 20 calls/s'

export const sessionCalls: Row = {
  numbers: [5],
  work,
  limitSeconds: 75,
  async run(bench) {
    const upstream = await bench.target('upstream.ts')
    const { pid, url, mcp, register } = await bench.gateway()
    const modes = ['stateless', 'stateful'] as const
    const sessions = await openSessions(mcp, CALLERS)
    const candidates = []
    for (const name of modes) {
      const server = { transport: 'streamable_http', url: `${upstream.url}/session/mcp`, session_mode: name }
      await register(name, server)
      const params = { name: `${name}__echo`, arguments: { message: 'hello' } }
      const requests = sessions.map((headers) => legacyRequest(mcp, 'tools/call', params, headers))
      candidates.push({ name, pid, target: calls(url, requests) })
    }
    const options = { perSecond: PER_SECOND, rounds: 3, ms: 5_000 }
    const [stateless, stateful] = (await compare(bench, candidates, options)) as [Measurement, Measurement]
    return [
      {
        row: 5,
        work,
        reference: 'the same in `stateful` mode',
        measure: 'p50',
        goal: { atMost: 1.5, unit: '×' },
        value: medianRatio(stateless.p50, stateful.p50),
        unit: '×',
        errors: errorsOf(stateless, stateful),
        note: figures(stateless, stateful)
      }
    ]
  }
}
