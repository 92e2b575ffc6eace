import { setTimeout as delay } from 'node:timers/promises'
import { modernBody, modernHeaders, readAnswer, withTasks } from '../../integration/mcp-helpers.ts'

export const TOOL = 'risky__act'
const ACCEPT = 'application/json, text/event-stream'
const META = 'towpath/approval'

/** How a client makes its call. */
export const ways = ['session', 'stateless', 'task', 'rest'] as const
/** Answer of the approver; `none`: nobody decides. */
export const answers = ['yes', 'no', 'none'] as const

/** One call, which its client repeats until it knows how it went. */
export interface PlannedCall {
  readonly key: string
  readonly way: (typeof ways)[number]
  readonly answer: (typeof answers)[number]
  /** Time of the decision after the request is known, in milliseconds. */
  readonly decideAfterMs: number
  readonly token: string
}

export interface Decision {
  readonly id: string
  readonly status: string
}

/** How a call went, as its client saw it. */
export type CallOutcome = 'result' | 'refused' | 'interrupted' | 'unknown'

/** A gateway as a client of the test sees it: addresses of the replicas that serve now. */
export interface Fleet {
  url(): string
}

const headersOf = (token: string) => ({ authorization: `Bearer ${token}` })

interface Attempt {
  readonly seen: CallOutcome
  /** The request waits: the call has to be repeated. */
  readonly isPending?: boolean
}

type Result = {
  readonly isError?: boolean
  readonly resultType?: string
  readonly taskId?: string
  readonly status?: string
  readonly _meta?: Record<string, { status: string }>
  readonly error?: { readonly message: string }
  readonly result?: Result
}

function readResult(result: Result | undefined): Attempt {
  if (!result) return { seen: 'unknown' }
  if (!result.isError) return { seen: 'result' }
  const isPending = result._meta?.[META]?.status === 'pending'
  return isPending ? { seen: 'unknown', isPending } : { seen: 'refused' }
}

async function post(url: string, headers: Record<string, string>, body: string, signal: AbortSignal) {
  const all = { 'content-type': 'application/json', accept: ACCEPT, ...headers }
  return readAnswer(await fetch(url, { method: 'POST', headers: all, body, signal }))
}

async function callInSession(url: string, { token, key }: PlannedCall, signal: AbortSignal): Promise<Attempt> {
  const clientInfo = { name: 'chaos', version: '1' }
  const send = (body: object, more: Record<string, string> = {}) =>
    post(`${url}/mcp`, { ...headersOf(token), ...more }, JSON.stringify({ jsonrpc: '2.0', ...body }), signal)
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const opened = await send({ id: 1, method: 'initialize', params })
  const id = opened.headers.get('mcp-session-id')
  if (!id) return { seen: 'unknown' }
  const session = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
  const { body } = await send({ id: 2, method: 'tools/call', params: { name: TOOL, arguments: { key } } }, session)
  return readResult(body.result)
}

async function callModern(
  url: string,
  method: string,
  params: { name?: string; taskId?: string },
  { token }: PlannedCall,
  signal: AbortSignal
) {
  const headers = { ...modernHeaders(method, params.name ?? params.taskId), ...headersOf(token) }
  return (await post(`${url}/mcp`, headers, modernBody(method, params), signal)).body
}

const toolCall = (key: string) => ({ name: TOOL, arguments: { key } })

async function callOverRest(url: string, { key, token }: PlannedCall, signal: AbortSignal): Promise<Attempt> {
  const body = JSON.stringify({ name: TOOL, key })
  const headers = { 'content-type': 'application/json', ...headersOf(token) }
  const answer = await fetch(`${url}/api/v0/tools/invoke`, { method: 'POST', headers, body, signal })
  const read = (await answer.json()) as { approval?: { status: string } }
  if (answer.status === 200) return { seen: 'result' }
  if (answer.status !== 409) return { seen: 'unknown' }
  return read.approval?.status === 'pending' ? { seen: 'unknown', isPending: true } : { seen: 'refused' }
}

/** Makes the call as a task; the handle works at every replica. */
async function callAsTask(fleet: Fleet, call: PlannedCall, signal: AbortSignal): Promise<Attempt> {
  const started = await callModern(
    fleet.url(),
    'tools/call',
    { ...toolCall(call.key), _meta: withTasks } as never,
    call,
    signal
  )
  const { resultType, taskId } = (started.result ?? {}) as Result
  if (resultType !== 'task') return readResult(started.result as Result)
  while (!signal.aborted) {
    await delay(250)
    try {
      const { result } = await callModern(
        fleet.url(),
        'tasks/get',
        { taskId: taskId!, _meta: withTasks } as never,
        call,
        signal
      )
      const state = result as Result | undefined
      if (state?.status === 'completed') return readResult(state.result)
      if (state?.status === 'failed') return { seen: 'interrupted' }
    } catch {
      // the replica is gone; another one knows the task
    }
  }
  return { seen: 'unknown' }
}

const attempts: Record<PlannedCall['way'], (fleet: Fleet, call: PlannedCall, signal: AbortSignal) => Promise<Attempt>> =
  {
    session: (fleet, call, signal) => callInSession(fleet.url(), call, signal),
    stateless: async (fleet, call, signal) =>
      readResult((await callModern(fleet.url(), 'tools/call', toolCall(call.key), call, signal)).result),
    task: callAsTask,
    rest: (fleet, call, signal) => callOverRest(fleet.url(), call, signal)
  }

/** Makes a call until its client knows how it went, as clients do that lost an answer. */
export async function makeCall(fleet: Fleet, call: PlannedCall, signal: AbortSignal): Promise<CallOutcome> {
  while (!signal.aborted) {
    try {
      const { seen } = await attempts[call.way](fleet, call, signal)
      if (seen !== 'unknown') return seen
    } catch {
      // the replica was killed
    }
    await delay(150)
  }
  return 'unknown'
}
