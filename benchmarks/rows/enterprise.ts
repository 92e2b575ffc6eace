import type { Gateway } from '../bench.ts'
import { compare, type Candidate, type Measurement } from '../compare.ts'
import { calls, modernRequest, times, type Headers } from '../requests.ts'
import { client, enterpriseGateway, server } from './enterprise-gateway.ts'
import { CONNECTIONS, cpuOutcome, type Row } from './row.ts'

/** Calls of a small tool with these headers. */
export function callCandidate(name: string, { pid, url, mcp }: Gateway, headers: Headers): Candidate {
  const request = modernRequest(mcp, 'tools/call', { name: 'bench__echo', arguments: { message: 'hello' } }, headers)
  return {
    name,
    pid,
    target: calls(
      url,
      times(CONNECTIONS, () => request)
    )
  }
}

export const enterpriseCalls: Row = {
  numbers: [3],
  work: '`tools/call` 200 B in enterprise mode',
  limitSeconds: 60,
  async run(bench) {
    const { url } = await bench.target('upstream.ts')
    const development = await bench.gateway()
    await development.register('bench', server(url))
    const candidates = [
      callCandidate('enterprise', await enterpriseGateway(bench, url), client),
      callCandidate('with call log', await enterpriseGateway(bench, url, { TOWPATH_CALL_LOG: 'on' }), client),
      callCandidate('development', development, {})
    ]
    const [plain, logged, open] = (await compare(bench, candidates)) as [Measurement, Measurement, Measurement]
    const reference = 'itself in development mode'
    const work = '`tools/call` 200 B, enterprise mode, token and allow list'
    return [
      cpuOutcome({ row: 3, work, reference, atMost: 1.08 }, plain, open),
      cpuOutcome({ row: 3, work: `${work}, call log on`, reference, atMost: 1.3 }, logged, open)
    ]
  }
}
