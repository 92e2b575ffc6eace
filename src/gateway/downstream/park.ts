import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isObject } from '../../domain/is-object.ts'
import { members } from '../json.ts'
import { Payload } from '../payload.ts'
import { createShares } from '../shares.ts'
import { errorAnswer, type Answer } from '../upstream/call.ts'
import type { RequestContext } from './exchange.ts'
import { codes, ProtocolError, type Message } from './jsonrpc.ts'
import type { Caller } from '../caller.ts'

/** A legacy upstream's request, held until its modern caller brings the answer. */
export interface PendingQuestion {
  readonly method: string
  /** JSON text. */
  readonly params: string
  readonly answer: (given: Answer) => void
  /** The upstream does not want to know any more. */
  isWithdrawn?: boolean
}

/** What is under way behind a parked call. */
export interface Abandonable {
  /** Its caller does not come back: what is asked is given up, the call is cancelled. */
  abandon(): void
}

/** A call that waits for its caller to come back (mcp-proxy.md#parked-calls). */
export interface ParkedCall<C> {
  readonly pendingCall: C
  /** Name of the server that asks. */
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
  /** Calls that wait. */
  readonly size: number
  /** What is kept of them. */
  readonly bytes: number
  /** The `requestState` under which the call waits, signed, for one use; undefined where too many wait already. */
  add(context: RequestContext, parked: ParkedCall<C>): string | undefined
  /** Whether a state is one of ours; an upstream's own passes through. */
  isOwnState(state: unknown): state is string
  /** The waiting call. Throws ProtocolError: one text for all that is wrong with a state. */
  take(context: RequestContext, state: string): ParkedCall<C>
  /**
   * Gives up what waits for these principals at these endpoints: it will not be taken any more
   * (mcp-proxy.md#parked-calls).
   */
  end(matches: (principal: string, endpoint: string) => boolean): void
}

const PARKED_TIMEOUT_MS = 600_000
const MAX_PARKED = 1_000
const MAX_PARKED_PER_PRINCIPAL = 16
/** Of one server, which decides how much it asks: the places of the others stay free. */
const MAX_PARKED_PER_SERVER = 250
const MAX_BYTES = 33_554_432
const MAX_BYTES_PER_SERVER = 8_388_608
/** What a call that waits takes beside texts, about. */
const ENTRY_BYTES = 4_096
const VERSION = 'twp1'

const keyOf = (index: number) => `input-${index + 1}`

/** What makes a repeated request the same request: method, name or URI, and arguments, as they were sent. */
function digestOf({ method, text, paramMembers }: Message): string {
  const hash = createHash('sha256').update(method)
  for (const key of ['name', 'uri', 'arguments']) {
    const member = paramMembers.find((candidate) => candidate.key === key)
    hash.update('\0').update(member ? text.slice(member.start, member.end) : '')
  }
  return hash.digest('base64url')
}

/** The questions and the request, as texts. */
const bytesOf = (questions: readonly PendingQuestion[], { text }: Message): number =>
  questions.reduce((sum, { params }) => sum + params.length, ENTRY_BYTES + text.length)

const cancelled: Answer = { kind: 'result', body: Payload.of('{"action":"cancel"}') }
const TIMED_OUT = 'the caller did not come back in time'
const CALLER_GONE = 'the caller can not be asked any more'

/** Nobody will answer: an elicitation is cancelled, everything else fails. */
export function failQuestions(questions: readonly PendingQuestion[], reason = TIMED_OUT): void {
  const failed = errorAnswer(-32603, reason)
  for (const { method, answer } of questions) answer(method === 'elicitation/create' ? cancelled : failed)
}

/** `inputRequests` of an `input_required` result, as JSON text: what is still wanted, under the keys of all. */
export function inputRequestsText(questions: readonly PendingQuestion[]): string {
  const open = questions.flatMap(({ method, params, isWithdrawn }, i) =>
    isWithdrawn ? [] : [`"${keyOf(i)}":{"method":${JSON.stringify(method)},"params":${params}}`]
  )
  return `{${open.join(',')}}`
}

const emptyAnswer: Answer = { kind: 'result', body: Payload.of('{}') }

/** The answers that the caller brought, by question; undefined where one that is wanted is missing or no object. */
export function readInputResponses(
  { text, paramMembers }: Message,
  questions: readonly PendingQuestion[]
): Answer[] | undefined {
  const given = paramMembers.find(({ key }) => key === 'inputResponses')
  const found = given && text[given.start] === '{' ? members(text, given.start) : []
  const answers: Answer[] = []
  for (const [i, { isWithdrawn }] of questions.entries()) {
    if (isWithdrawn) {
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

/** One text for all that is wrong with a state. */
export const invalidState = ({ id }: Message) =>
  new ProtocolError(codes.invalidParams, 'Invalid params: the request state is not valid', {
    status: 200,
    id,
    data: { reason: 'invalid_request_state' }
  })

export function createInputRequiredStore<C extends Abandonable>(key: Buffer): InputRequiredStore<C> {
  const entries = new Map<string, Entry<C>>()
  const places = createShares(MAX_PARKED_PER_SERVER)
  const storedBytes = createShares(MAX_BYTES_PER_SERVER, MAX_BYTES)
  const sign = (payload: string) => createHmac('sha256', key).update(payload).digest('base64url')
  /** Tells our states from those of upstreams, which may be gateways of the same make with another key. */
  const prefix = `${VERSION}.${sign(VERSION).slice(0, 8)}.`

  const countOf = (principal: string) => {
    let count = 0
    for (const entry of entries.values()) if (entry.principal === principal) count++
    return count
  }
  /** Without authentication all callers are one principal, who cannot be held to one caller's share. */
  const hasTooMany = ({ kind, key: principal }: Caller) =>
    kind !== 'development' && countOf(principal) >= MAX_PARKED_PER_PRINCIPAL
  const remove = (id: string, { server, bytes, timer }: Entry<C>) => {
    entries.delete(id)
    clearTimeout(timer)
    places.give(server)
    storedBytes.give(server, bytes)
  }
  const reserve = (server: string, bytes: number): boolean => {
    if (!places.take(server)) return false
    if (storedBytes.take(server, bytes)) return true
    places.give(server)
    return false
  }
  const expire = (id: string, reason?: string) => {
    const entry = entries.get(id)
    if (!entry) return
    remove(id, entry)
    failQuestions(entry.questions, reason)
    entry.pendingCall.abandon()
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
      const id = randomBytes(16).toString('base64url')
      const timer = setTimeout(expire, PARKED_TIMEOUT_MS, id).unref()
      entries.set(id, { ...parked, principal: caller.key, endpoint, digest: digestOf(message), bytes, timer })
      return `${prefix}${id}.${sign(id)}`
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
