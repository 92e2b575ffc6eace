/** Texts about a call. Pure functions. */
import type { CallEntry } from '../../../src/schemas/call.ts'
import { MODERN_VERSION } from '../../../src/domain/mcp-constants.ts'
import { duration } from '../format.ts'

/** Returns the called item: the public name of a tool or prompt, or a URI. */
export const calledItem = ({ kind, server, item }: CallEntry): string => {
  if (item === undefined) return server ?? '—'
  return kind === 'resource' || server === undefined ? item : `${server}__${item}`
}

/** Returns the group's name for a group's endpoint, otherwise the endpoint itself. */
export const endpointText = (endpoint: string): string => /^\/v0\/groups\/([^/]+)\//.exec(endpoint)?.[1] ?? endpoint

/** Returns the client's own name, else the principal. In development mode all callers are one principal. */
export const callerText = ({ client, caller, caller_kind }: CallEntry): string =>
  client ?? (caller_kind === 'development' ? '—' : caller)

const outcomes: Readonly<Record<CallEntry['outcome'], string>> = {
  ok: 'The server answered.',
  task: 'The server started a task. Another entry shows how it ended.',
  tool_error: 'The tool reported an error.',
  failed: 'The call failed.',
  timeout: 'The server did not answer in time.',
  cancelled: 'The client cancelled the call before it was answered.',
  refused: 'Towpath refused the call.'
}

const endings: Readonly<Record<NonNullable<CallEntry['ended_in']>, string>> = {
  queue: 'The call did not reach the server.',
  start: 'The server could not be started.',
  initialize: 'The server exited or went silent before answering initialize.'
}

/** True if no answer of the server arrived. */
export const isFailed = ({ outcome }: CallEntry): boolean => outcome === 'failed' || outcome === 'timeout'

/** Returns the outcome as a sentence. */
export const headline = (call: CallEntry): string =>
  isFailed(call) && call.ended_in ? endings[call.ended_in] : outcomes[call.outcome]

/** Explains the answer that the client received after a failure, or why no details were recorded. */
export const explanation = (call: CallEntry): string => {
  if (call.outcome === 'tool_error' && call.result === undefined && call.error === undefined)
    return 'The error text was not recorded.'
  if (!isFailed(call)) return ''
  const answer = call.via === 'rest' ? 'an HTTP error' : 'a JSON-RPC error'
  return `Towpath returned ${answer} to the client; the call was not retried.`
}

export interface Phase {
  readonly id: 'queue' | 'start' | 'initialize' | 'call'
  readonly label: string
  /** Duration; undefined if the phase was not reached. */
  readonly ms: number | undefined
  /** True for the phase in which the call ended early. */
  readonly isEnd: boolean
}

const labels = { queue: 'Queue', start: 'Start', initialize: 'Initialize', call: 'Call' } as const

/** Returns the phases until the server had answered: waiting phases that took place, then the call itself. */
export function phasesOf({ queue_ms, start_ms, initialize_ms, upstream_ms, ended_in }: CallEntry): Phase[] {
  const waits = { queue: queue_ms, start: start_ms, initialize: initialize_ms } as const
  const waited = (queue_ms ?? 0) + (start_ms ?? 0) + (initialize_ms ?? 0)
  const own = ended_in || upstream_ms === 0 ? undefined : Math.max(0, upstream_ms - waited)
  const known = (['queue', 'start', 'initialize'] as const).filter((id) => waits[id] !== undefined || ended_in === id)
  return [
    ...known.map((id) => ({ id, label: labels[id], ms: waits[id], isEnd: ended_in === id })),
    { id: 'call', label: labels.call, ms: own, isEnd: false }
  ]
}

export const phaseText = ({ ms, isEnd }: Phase): string => {
  if (!isEnd) return ms === undefined ? 'not reached' : duration(ms)
  return ms === undefined ? 'ended' : `ended after ${duration(ms)}`
}

const eraOf = (version: string): string => `${version}, ${version >= MODERN_VERSION ? 'modern' : 'legacy'} era`

/** Returns the protocol versions of client and server, or one if they are equal. */
export function protocolText({ via, client_protocol: client, server_protocol: server }: CallEntry): string {
  const near = via === 'rest' ? 'REST' : client
  if (near === server && near !== undefined) return eraOf(near)
  return [near ?? 'MCP, legacy era', server].filter(Boolean).join(' → ')
}
