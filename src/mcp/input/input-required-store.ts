import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isObject } from '../../domain/is-object.ts'
import { makeOwned, ownsEveryId, type OwnsId } from '../../domain/worker-ids.ts'
import { members } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'
import { createQuota } from '../../lib/quota.ts'
import { errorAnswer, type Answer } from '../../upstream/transport/call.ts'
import type { RequestContext } from '../sessions/request-context.ts'
import { codes, ProtocolError, type Message } from '../../protocol/jsonrpc.ts'
import { principalIdOf, type Caller } from '../../catalog/caller.ts'

/** A legacy upstream's request, held until the modern caller returns with the answer. */
export interface PendingQuestion {
  readonly method: string
  /** JSON text. */
  readonly params: string
  readonly answer: (given: Answer) => void
  /** True if the upstream has cancelled the request. */
  isCancelled?: boolean
}

/** The upstream call behind a parked call. */
export interface Abandonable {
  /** Cancels the call and fails its open questions, because the caller did not return. */
  abandon(): void
}

/** A call that waits for its caller to return with answers (mcp-proxy.md#parked-calls). */
export interface ParkedCall<C> {
  readonly pendingCall: C
  /** Name of the server that sent the questions. */
  readonly server: string
  readonly questions: readonly PendingQuestion[]
  readonly round: number
}

interface Entry<C extends Abandonable> extends ParkedCall<C> {
  readonly principal: string
  readonly endpoint: string
  readonly digest: string
  readonly bytes: number
  readonly timer: NodeJS.Timeout
}

export interface InputRequiredStore<C extends Abandonable> {
  /** Number of parked calls. */
  readonly size: number
  /** Bytes stored for parked calls. */
  readonly bytes: number
  /** Parks the call and returns its signed, single-use `requestState`; undefined if a limit is reached. */
  add(context: RequestContext, parked: ParkedCall<C>): string | undefined
  /** Returns true if the state was issued by this gateway; an upstream's own state is forwarded. */
  isOwnState(state: unknown): state is string
  /** Returns the state of this gateway that a body holds, as it was issued; undefined if there is none. */
  ownStateIn(body: Buffer): string | undefined
  /** Removes and returns the parked call. Throws ProtocolError, with the same text for every defect of a state. */
  take(context: RequestContext, state: string): ParkedCall<C>
  /** Abandons the parked calls of the matching principals and endpoints (mcp-proxy.md#parked-calls). */
  end(matches: (principal: string, endpoint: string) => boolean): void
}

const PARKED_TIMEOUT_MS = 600_000
const MAX_PARKED = 1_000
const MAX_PARKED_PER_PRINCIPAL = 16
/** Limit per server, so that a server that asks often leaves room for the others. */
const MAX_PARKED_PER_SERVER = 250
const MAX_BYTES = 33_554_432
const MAX_BYTES_PER_SERVER = 8_388_608
/** Estimated size of a parked call beside its texts. */
const ENTRY_BYTES = 4_096
const VERSION = 'twp1'

const keyOf = (index: number) => `input-${index + 1}`

/** Returns a digest of method, name or URI, and arguments as sent: a resumed request must match the parked one. */
function digestOf({ method, text, paramMembers }: Message): string {
  const hash = createHash('sha256').update(method)
  for (const key of ['name', 'uri', 'arguments']) {
    const member = paramMembers.find((candidate) => candidate.key === key)
    hash.update('\0').update(member ? text.slice(member.start, member.end) : '')
  }
  return hash.digest('base64url')
}

/** Returns the stored bytes of the questions and the request. */
const bytesOf = (questions: readonly PendingQuestion[], { text }: Message): number =>
  questions.reduce((sum, { params }) => sum + params.length, ENTRY_BYTES + text.length)

const cancelled: Answer = { kind: 'result', body: Payload.of('{"action":"cancel"}') }
const TIMED_OUT = 'the caller did not send the input in time'
const CALLER_GONE = 'the caller can no longer be asked for input'

/** Answers the questions without the caller: elicitations are cancelled, everything else fails. */
export function failQuestions(questions: readonly PendingQuestion[], reason = TIMED_OUT): void {
  const failed = errorAnswer(-32603, reason)
  for (const { method, answer } of questions) answer(method === 'elicitation/create' ? cancelled : failed)
}

/**
 * Returns `inputRequests` of an `input_required` result as JSON text. Keys stay stable when questions are withdrawn.
 */
export function inputRequestsText(questions: readonly PendingQuestion[]): string {
  const open = questions.flatMap(({ method, params, isCancelled }, i) =>
    isCancelled ? [] : [`"${keyOf(i)}":{"method":${JSON.stringify(method)},"params":${params}}`]
  )
  return `{${open.join(',')}}`
}

const emptyAnswer: Answer = { kind: 'result', body: Payload.of('{}') }

/** Returns the caller's answers in the order of the questions; undefined if one is missing or not an object. */
export function readInputResponses(
  { text, paramMembers }: Message,
  questions: readonly PendingQuestion[]
): Answer[] | undefined {
  const given = paramMembers.find(({ key }) => key === 'inputResponses')
  const found = given && text[given.start] === '{' ? members(text, given.start) : []
  const answers: Answer[] = []
  for (const [i, { isCancelled }] of questions.entries()) {
    if (isCancelled) {
      answers.push(emptyAnswer)
      continue
    }
    const response = found.find(({ key }) => key === keyOf(i))
    const value = response && text.slice(response.start, response.end)
    if (value === undefined || !isObject(JSON.parse(value))) return undefined
    answers.push({ kind: 'result', body: Payload.of(value) })
  }
  return answers
}

/** Returns the error for an invalid `requestState`, the same for every defect. */
export const invalidState = ({ id }: Message) =>
  new ProtocolError(codes.invalidParams, 'Invalid params: the request state is not valid', {
    status: 200,
    id,
    data: { reason: 'invalid_request_state' }
  })

/** Creates the store of one process. `owns` tests if requests with a state reach this worker. */
export function createInputRequiredStore<C extends Abandonable>(
  key: Buffer,
  owns: OwnsId = ownsEveryId
): InputRequiredStore<C> {
  const entries = new Map<string, Entry<C>>()
  const places = createQuota(MAX_PARKED_PER_SERVER)
  const storedBytes = createQuota(MAX_BYTES_PER_SERVER, MAX_BYTES)
  const sign = (payload: string) => createHmac('sha256', key).update(payload).digest('base64url')
  /** Distinguishes this gateway's states from an upstream's, which may be the same product with another key. */
  const prefix = `${VERSION}.${sign(VERSION).slice(0, 8)}.`
  const quotedPrefix = `"${prefix}`
  const memberPattern = new RegExp(
    String.raw`"requestState"\s*:\s*"(${prefix.replaceAll('.', String.raw`\.`)}[\w.-]{1,128})"`
  )

  const countOf = (principal: string) => {
    const id = principalIdOf(principal)
    let count = 0
    for (const entry of entries.values()) if (principalIdOf(entry.principal) === id) count++
    return count
  }
  /** Without authentication all callers share one principal, so the limit per principal does not apply. */
  const hasTooMany = ({ kind, key: principal }: Caller) =>
    kind !== 'development' && countOf(principal) >= MAX_PARKED_PER_PRINCIPAL
  const remove = (id: string, { server, bytes, timer }: Entry<C>) => {
    entries.delete(id)
    clearTimeout(timer)
    places.release(server)
    storedBytes.release(server, bytes)
  }
  const reserve = (server: string, bytes: number): boolean => {
    if (!places.acquire(server)) return false
    if (storedBytes.acquire(server, bytes)) return true
    places.release(server)
    return false
  }
  const expire = (id: string, reason?: string) => {
    const entry = entries.get(id)
    if (!entry) return
    remove(id, entry)
    failQuestions(entry.questions, reason)
    entry.pendingCall.abandon()
  }
  const newState = () => {
    const id = randomBytes(16).toString('base64url')
    return `${prefix}${id}.${sign(id)}`
  }
  const isSigned = (payload: string, signature: string) => {
    const expected = Buffer.from(sign(payload))
    const given = Buffer.from(signature)
    return expected.length === given.length && timingSafeEqual(expected, given)
  }
  return {
    get size() {
      return entries.size
    },
    get bytes() {
      return storedBytes.size
    },
    add(context, parked) {
      const { caller, endpoint, message } = context
      const bytes = bytesOf(parked.questions, message)
      if (entries.size >= MAX_PARKED || hasTooMany(caller) || !reserve(parked.server, bytes)) return undefined
      const state = makeOwned(newState, owns)
      const [id] = state.slice(prefix.length).split('.') as [string]
      const timer = setTimeout(expire, PARKED_TIMEOUT_MS, id).unref()
      entries.set(id, { ...parked, principal: caller.key, endpoint, digest: digestOf(message), bytes, timer })
      return state
    },
    ownStateIn(body) {
      if (!body.includes(quotedPrefix)) return undefined
      return memberPattern.exec(body.toString('latin1'))?.[1]
    },
    isOwnState: (state): state is string => typeof state === 'string' && state.startsWith(prefix),
    take(context, state) {
      const [id = '', signature = '', ...rest] = state.slice(prefix.length).split('.')
      const entry = rest.length === 0 && isSigned(id, signature) ? entries.get(id) : undefined
      const { caller, endpoint, message } = context
      const isSame =
        entry?.principal === caller.key && entry.endpoint === endpoint && entry.digest === digestOf(message)
      if (!entry || !isSame) throw invalidState(message)
      remove(id, entry)
      return entry
    },
    end(matches) {
      for (const [id, { principal, endpoint }] of entries) if (matches(principal, endpoint)) expire(id, CALLER_GONE)
    }
  }
}
