/** What pages say of a call. Pure. */
import type { CallEntry } from '../../../src/schemas/call.ts'
import { MODERN_VERSION } from '../../../src/domain/protocol.ts'
import { duration } from '../format.ts'

/** What was called: the qualified name of a tool or prompt, or a URI. */
export const calledItem = ({ kind, server, item }: CallEntry): string => {
  if (item === undefined) return server ?? '—'
  return kind === 'resource' || server === undefined ? item : `${server}__${item}`
}

/** A group's endpoint by the group's name. */
export const endpointText = (endpoint: string): string => /^\/v0\/groups\/([^/]+)\//.exec(endpoint)?.[1] ?? endpoint

/** Who called: as the client names itself, else the principal. In development mode all are one principal. */
export const callerText = ({ client, caller, caller_kind }: CallEntry): string =>
  client ?? (caller_kind === 'development' ? '—' : caller)

const outcomes: Readonly<Record<CallEntry['outcome'], string>> = {
  ok: 'The server answered.',
  tool_error: 'The tool itself says that it failed.',
  failed: 'The server did not do it.',
  timeout: 'The server did not answer in time.',
  cancelled: 'The client gave the call up before it was answered.',
  refused: 'Towpath did not pass the call on.'
}

const endings: Readonly<Record<NonNullable<CallEntry['ended_in']>, string>> = {
  queue: 'The call did not get to the server.',
  start: 'The server could not be started.',
  initialize: 'The server ended, or was silent, before it answered the first message.'
}

/** It did not come to an answer of the server's. */
export const isFailed = ({ outcome }: CallEntry): boolean => outcome === 'failed' || outcome === 'timeout'

/** How it went, in a sentence. */
export const headline = (call: CallEntry): string =>
  isFailed(call) && call.ended_in ? endings[call.ended_in] : outcomes[call.outcome]

/** What became of it on the client's side, where it failed, and why there is no more to be seen. */
export const aftermath = (call: CallEntry): string => {
  if (call.outcome === 'tool_error' && call.result === undefined) return 'What it says is not recorded.'
  if (!isFailed(call)) return ''
  const answer = call.via === 'rest' ? 'an HTTP error' : 'a JSON-RPC error'
  return `Towpath answered the client with ${answer}; the call was not repeated.`
}

export interface Phase {
  readonly id: 'queue' | 'start' | 'initialize' | 'call'
  readonly label: string
  /** Undefined: not reached. */
  readonly ms: number | undefined
  /** It is where the call ended before its time. */
  readonly isEnd: boolean
}

const labels = { queue: 'Queue', start: 'Start', initialize: 'Initialize', call: 'Call' } as const

/** Where the time went until the server had answered: the phases that there were, and the call itself. */
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

/** The revisions on both sides: one where they are the same. */
export function protocolText({ via, client_protocol: client, server_protocol: server }: CallEntry): string {
  const near = via === 'rest' ? 'REST' : client
  if (near === server && near !== undefined) return eraOf(near)
  return [near ?? 'MCP, legacy era', server].filter(Boolean).join(' → ')
}
