import type { Bench, Gateway } from '../bench.ts'
import { compare, cpuRatio, errorsOf, figures, type Candidate, type Measurement } from '../compare.ts'
import { calls, modernRequest, times } from '../requests.ts'

const CONNECTIONS = 16
const SIZE = 200
const TOOLS = 5_000
const OVERRIDES = 50
/** The goal is 5 %, and one round of the same requests differs from the next by as much. */
const ROUNDS = 84

/** Result of comparing calls. */
export interface CallCost {
  /** CPU of a call of a renamed tool with a lock and a default, compared with the same call without overrides */
  readonly ratio: number
  /** The same for a tool of that group that has no override */
  readonly otherRatio: number
  readonly errors: number
  readonly figures: string
}

const overrideOf = (index: number) => ({
  name: `view_${index}`,
  description: 'Gives a message back.',
  arguments: { size: { lock: SIZE }, limit: { default: 10 } }
})

function candidate(name: string, { pid, url }: Gateway, group: string, tool: string, args: object): Candidate {
  const request = modernRequest(`${url}/v0/groups/${group}/mcp`, 'tools/call', { name: tool, arguments: args })
  return {
    name,
    pid,
    target: calls(
      url,
      times(CONNECTIONS, () => request),
      SIZE
    )
  }
}

/** Compares calls through a group of 5,000 tools with 50 overrides with calls through the same group without. */
export async function compareCalls(bench: Bench): Promise<CallCost> {
  const upstream = await bench.target('upstream.ts')
  const gateway = await bench.gateway()
  await gateway.register('bench', { transport: 'streamable_http', url: `${upstream.url}/mcp?tools=${TOOLS}` })
  const names = ['echo', ...times(OVERRIDES - 1, (index) => `tool_${index + 1}`)]
  const tools = Object.fromEntries(names.map((name, index) => [`bench__${name}`, overrideOf(index)]))
  await gateway.admin('POST', '/tool-groups', { name: 'plain', included_servers: ['bench'] })
  await gateway.admin('POST', '/tool-groups', { name: 'views', included_servers: ['bench'], tools })
  const whole = { message: 'hello', size: SIZE, limit: 10 }
  const other = `bench__tool_${TOOLS - 1}`
  const candidates = [
    candidate('plain', gateway, 'plain', 'bench__echo', whole),
    candidate('override', gateway, 'views', 'view_0', { message: 'hello' }),
    candidate('plain, another tool', gateway, 'plain', other, whole),
    candidate('no override', gateway, 'views', other, whole)
  ]
  const measured = await compare(bench, candidates, { rounds: ROUNDS })
  const [plain, view, plainOther, viewOther] = measured as [Measurement, Measurement, Measurement, Measurement]
  return {
    ratio: cpuRatio(view, plain),
    otherRatio: cpuRatio(viewOther, plainOther),
    errors: errorsOf(...measured),
    figures: figures(...measured)
  }
}
