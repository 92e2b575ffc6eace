import { isUtf8 } from 'node:buffer'
import { APP_MIME_TYPE, SKILLS_EXTENSION, UI_EXTENSION } from '../../domain/mcp-constants.ts'
import { objectOr } from '../../domain/is-object.ts'
import { timeLeft } from '../../domain/timers.ts'
import type { ItemKind, LeftOut, OfferedItem } from '../../registry/model/model.ts'
import { shapeProblem } from '../../catalog/items/item-shape.ts'
import { canonicalUri } from '../../catalog/items/skill-entry.ts'
import { createLeftOut, type LeftOutList, type Problem } from '../../catalog/items/left-out.ts'
import { memberSteps, skipSpaceBytes, skipValueSteps } from '../../json/bytes.ts'
import { CLOSE_ARRAY, COMMA, OPEN_ARRAY, OPEN_OBJECT } from '../../json/characters.ts'
import { JsonError, type Member, syntaxError } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'
import { withoutLoneSurrogates } from '../../json/surrogates.ts'
import { completeInSlices, createTimeSlice } from '../../lib/time-slice.ts'
import { prepareItem } from '../../registry/repositories/items.ts'
import { Call, methodNotFound, type Answer, type Sink } from '../transport/call.ts'
import type { Connection } from '../transport/connection.ts'
import { UpstreamFailure, badResponse } from '../../protocol/upstream-failure.ts'
import { cleanText, looseLimits, readError, toFailure } from '../transport/message.ts'
import { limitProblem, sizeProblem, textProblem, duplicateProblem } from './item-problems.ts'

/**
 * Capabilities to declare for reading lists, as JSON text: some servers show tools and interfaces only to clients that
 * declare them (mcp-proxy.md#reading-upstream-lists).
 */
export const listingCapabilities = JSON.stringify({
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: {},
  extensions: { [UI_EXTENSION]: { mimeTypes: [APP_MIME_TYPE] }, [SKILLS_EXTENSION]: {} }
})

const serverRequestAnswers = new Map([
  ['roots/list', { kind: 'result', body: Payload.of('{"roots":[]}') }],
  ['elicitation/create', { kind: 'result', body: Payload.of('{"action":"cancel"}') }],
  ['sampling/createMessage', { kind: 'error', body: Payload.of('{"code":-32603,"message":"no client to ask"}') }]
] as [string, Answer][])

/**
 * Answers server requests on a session that reads lists, which has no client behind it
 * (mcp-proxy.md#reading-upstream-lists).
 */
export const answerServerRequest = async (method: string): Promise<Answer> =>
  serverRequestAnswers.get(method) ?? methodNotFound

export const listingSink: Sink = {
  capabilities: listingCapabilities,
  wantsProgress: false,
  notify() {},
  request: answerServerRequest
}

/** Limits of the stored lists of an upstream (security-model.md#bounds-of-stored-data). */
const MAX_PAGES = 1_000
const MAX_ITEMS = 10_000
/**
 * Lower limit for templates: a URI that is in no list is matched against each template, and upstreams may announce
 * updates of any URI as often as they like.
 */
const MAX_TEMPLATES = 1_000
const maxOf = ({ kind }: { readonly kind: ItemKind }) => (kind === 'template' ? MAX_TEMPLATES : MAX_ITEMS)
/** Elements of one list that are inspected, usable or not: each blocks the event loop for some microseconds. */
const MAX_ELEMENTS = 2 * MAX_ITEMS
/** Limit for all lists of one upstream together. */
const MAX_TOTAL_BYTES = 67_108_864
const MAX_WARNINGS = 10
const METHOD_NOT_FOUND = -32601

interface ListKind {
  readonly kind: ItemKind
  readonly method: string
  readonly member: string
  readonly key: string
  /** Name of the capability that a server with the list declares; that of an extension is in `extensions`. */
  readonly capability: string
}

const lists: readonly ListKind[] = [
  { kind: 'tool', method: 'tools/list', member: 'tools', key: 'name', capability: 'tools' },
  { kind: 'prompt', method: 'prompts/list', member: 'prompts', key: 'name', capability: 'prompts' },
  { kind: 'resource', method: 'resources/list', member: 'resources', key: 'uri', capability: 'resources' },
  {
    kind: 'template',
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources'
  },
  { kind: 'skill', method: 'skills/list', member: 'skills', key: 'uri', capability: SKILLS_EXTENSION }
]

const declares = (capabilities: Readonly<Record<string, unknown>>, name: string) =>
  capabilities[name] !== undefined || objectOr(capabilities['extensions'], undefined)?.[name] !== undefined

export interface ReadOptions {
  /** `performance.now()` time by which all lists must be read. */
  readonly deadline: number
  /** Called for items that are left out, with the reason. */
  readonly warn: (text: string) => void
}

/** Lists of an upstream. */
export interface Lists {
  readonly items: readonly OfferedItem[]
  /** Items that were left out; undefined if there are none. */
  readonly leftOut: LeftOut | undefined
  /** Shortest `ttlMs` in the list answers, in milliseconds; undefined if the upstream sends none. */
  readonly ttlMs: number | undefined
}

/**
 * Sends one request of the gateway's own, bounded by a deadline. `params` are members of params as JSON text. Rejects
 * with UpstreamFailure.
 */
export async function sendRequest(
  connection: Connection,
  method: string,
  params: string,
  deadline: number
): Promise<Answer> {
  const call = new Call({ method, members: params, meta: '' }, listingSink)
  const stop = () => call.stop(new UpstreamFailure('timeout', `did not answer ${method} in time`))
  const timer = setTimeout(stop, timeLeft(deadline))
  try {
    return await connection.send(call)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Calls `add` with each raw element of a JSON array, until it returns false, in steps: a page may contain millions, and
 * megabytes of brackets in one. Throws JsonError.
 */
function* elementSteps(array: Buffer, add: (element: Buffer) => Generator<void, boolean>): Generator<void, void> {
  let i = skipSpaceBytes(array, 1)
  while (array[i] !== CLOSE_ARRAY) {
    const end = yield* skipValueSteps(array, i, looseLimits)
    if (!(yield* add(array.subarray(i, end)))) return
    yield
    i = skipSpaceBytes(array, end)
    if (array[i] === COMMA) i = skipSpaceBytes(array, i + 1)
    else if (array[i] !== CLOSE_ARRAY) throw syntaxError(i)
  }
}

/** Parses the value of a member; undefined if it is absent or malformed. */
function tryParse(json: string | undefined): unknown {
  try {
    return json === undefined ? undefined : JSON.parse(json)
  } catch {
    return undefined
  }
}

/** Returns the members of a definition, which may be invalid JSON, in steps; none if they cannot be told. */
function* looseMembers(definition: Buffer): Generator<void, readonly Member[]> {
  try {
    return definition[0] === OPEN_OBJECT ? yield* memberSteps(definition, 0, looseLimits) : []
  } catch (error) {
    if (error instanceof JsonError) return []
    throw error
  }
}

/** Returns the name in a definition; undefined if there is no usable name, or one larger than a definition may be. */
function readName(definition: Buffer, found: readonly Member[], key: string): string | undefined {
  const member = found.findLast((each) => each.key === key)
  if (!member || sizeProblem(member.end - member.start)) return undefined
  const value = tryParse(definition.toString('utf8', member.start, member.end))
  return typeof value === 'string' && value !== '' && !/\0|\p{Surrogate}/u.test(value) ? value : undefined
}

const tooMany = (list: ListKind): Problem => ({ code: 'too_many', reason: `more than ${maxOf(list)} are listed` })

/** Collects the usable items of one list in the upstream's order; of items with the same name the first. */
function createCollection(list: ListKind, warn: (text: string) => void, leftOutList: LeftOutList) {
  const items = new Map<string, OfferedItem>()
  /** Names of the items; URIs of skills in the form in which clients compare them. */
  const names = new Set<string>()
  let leftOutCount = 0
  let inspected = 0
  const leaveOut = (name: string | undefined, problem: Problem) => {
    leftOutList.add(list.kind, name, problem)
    const label = name === undefined ? '' : ` "${cleanText(name)}"`
    if (++leftOutCount <= MAX_WARNINGS) warn(`${list.kind}${label} of the upstream is left out: ${problem.reason}`)
  }
  /** Adds an item in steps: the largest one takes tens of milliseconds. */
  function* addItem(bytes: Buffer): Generator<void> {
    const found = yield* looseMembers(bytes)
    const name = readName(bytes, found, list.key)
    const tooLarge =
      sizeProblem(bytes.length) ?? (name === undefined ? undefined : limitProblem(name, found, list.kind))
    if (tooLarge !== undefined) return leaveOut(name, tooLarge)
    yield
    const text = bytes.toString()
    const broken = text.startsWith('{') ? yield* textProblem(bytes, text) : undefined
    if (broken !== undefined) return leaveOut(name, broken)
    if (name === undefined) {
      return leaveOut(name, { code: 'no_name', reason: `it has no usable "${list.key}"` })
    }
    const key = (list.kind === 'skill' ? canonicalUri(name) : undefined) ?? name
    if (names.has(key)) return leaveOut(name, duplicateProblem(list.kind))
    yield
    const definition = withoutLoneSurrogates(text)
    const problem = shapeProblem(list.kind, definition)
    if (problem !== undefined) return leaveOut(name, problem)
    yield
    if (items.size === maxOf(list)) return leaveOut(name, tooMany(list))
    names.add(key)
    const item = { kind: list.kind, name, definition }
    prepareItem(item)
    items.set(name, item)
  }
  return {
    items,
    get isFull() {
      return items.size === maxOf(list) || inspected > MAX_ELEMENTS
    },
    /** Adds one raw element of the list, in steps. Returns false once no more elements are inspected. */
    *add(bytes: Buffer): Generator<void, boolean> {
      if (++inspected <= MAX_ELEMENTS) yield* addItem(bytes)
      else leaveOut(undefined, tooMany(list))
      return inspected <= MAX_ELEMENTS
    },
    finish() {
      if (leftOutCount > MAX_WARNINGS)
        warn(`${leftOutCount - MAX_WARNINGS} more ${list.member} of the upstream are left out`)
    }
  }
}

/**
 * True for a usable TTL. 0 asks clients not to cache, which does not apply to the gateway's stored lists
 * (mcp-proxy.md#cache-hints).
 */
const isTtl = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

/**
 * Adds the items of one page; an unusable item does not affect the others. Returns the cursor of the next page,
 * undefined if there is none. Each page waits for its turn: many short ones cost as much as a long one.
 */
async function readPage(
  { body }: Answer,
  { member, method }: ListKind,
  add: (item: Buffer) => Generator<void, boolean>,
  totals: ListTotals
): Promise<string | undefined> {
  const slice = createTimeSlice()
  await slice.next()
  // its members were found loosely when the message was read
  const list = body.partOf(member)?.bytes
  if (list?.[0] !== OPEN_ARRAY) throw badResponse(`answered ${method} without "${member}"`)
  await completeInSlices(elementSteps(list, add), slice)
  const ttlMs = tryParse(body.valueOf('ttlMs'))
  if (isTtl(ttlMs)) totals.ttlMs = Math.min(ttlMs, totals.ttlMs ?? Infinity)
  return readCursor(body.valueOf('nextCursor'), method)
}

/**
 * `json` is in latin1, one character a byte. A malformed cursor throws, so that it is not mistaken for the end of the
 * list.
 */
function readCursor(json: string | undefined, method: string): string | undefined {
  if (json === undefined) return undefined
  const bytes = Buffer.from(json, 'latin1')
  const cursor = isUtf8(bytes) ? tryParse(bytes.toString()) : undefined
  if (cursor === undefined) throw badResponse(`answered ${method} with a malformed "nextCursor"`)
  return typeof cursor === 'string' ? cursor : undefined
}

/** Returns null for an unknown method, which means an empty list (mcp-proxy.md#reading-upstream-lists). */
function listFailure(answer: Answer, method: string): UpstreamFailure | null {
  const { code, message } = readError(answer)
  return code === METHOD_NOT_FOUND ? null : badResponse(`refused ${method}: ${message}`)
}

/** Running totals over all lists of an upstream. */
interface ListTotals {
  /** Bytes that may still be read. */
  bytes: number
  ttlMs: number | undefined
  readonly leftOutList: LeftOutList
}

async function readList(
  connection: Connection,
  list: ListKind,
  { deadline, warn }: ReadOptions,
  totals: ListTotals
): Promise<OfferedItem[]> {
  const collection = createCollection(list, warn, totals.leftOutList)
  const cursors = new Set<string>()
  let params = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await sendRequest(connection, list.method, params, deadline)
    if (answer.kind === 'error') {
      const failure = listFailure(answer, list.method)
      if (failure) throw failure
      return []
    }
    totals.bytes -= answer.body.length
    if (totals.bytes < 0) throw new UpstreamFailure('too_large', `lists more than ${MAX_TOTAL_BYTES} bytes`)
    const nextCursor = await readPage(answer, list, collection.add, totals)
    if (nextCursor === undefined || collection.isFull) {
      if (nextCursor !== undefined) {
        totals.leftOutList.add(list.kind, undefined, tooMany(list))
        warn(`lists more than ${maxOf(list)} ${list.member}, the rest is left out`)
      }
      collection.finish()
      return [...collection.items.values()]
    }
    if (cursors.has(nextCursor)) throw badResponse(`repeats a page of ${list.method}`)
    cursors.add(nextCursor)
    params = `"cursor":${JSON.stringify(nextCursor)}`
  }
  throw badResponse(`has more than ${MAX_PAGES} pages of ${list.method}`)
}

/**
 * Reads a list. A list of skills that breaks the protocol is left out as a whole: a broken extension must not cost the
 * server's tools.
 */
async function readAny(
  connection: Connection,
  list: ListKind,
  options: ReadOptions,
  totals: ListTotals
): Promise<OfferedItem[]> {
  try {
    return await readList(connection, list, options, totals)
  } catch (error) {
    const failure = error instanceof JsonError ? toFailure(error) : error
    if (list.kind !== 'skill' || !(failure instanceof UpstreamFailure) || failure.reason !== 'bad_response') throw error
    totals.leftOutList.add(list.kind, undefined, { code: 'malformed', reason: `${list.method} failed` })
    options.warn(`the ${list.member} of the upstream are left out: it ${failure.message}`)
    return []
  }
}

/**
 * Reads all lists that the upstream declares. Definitions keep the upstream's text; items that exceed a limit are left
 * out with a warning (security-model.md#upstream-text). Rejects with UpstreamFailure.
 */
export async function readLists(
  connection: Connection,
  capabilities: Readonly<Record<string, unknown>>,
  options: ReadOptions
): Promise<Lists> {
  const items: OfferedItem[] = []
  const totals: ListTotals = { bytes: MAX_TOTAL_BYTES, ttlMs: undefined, leftOutList: createLeftOut() }
  try {
    for (const list of lists) {
      if (!declares(capabilities, list.capability)) continue
      for (const item of await readAny(connection, list, options, totals)) items.push(item)
    }
  } catch (error) {
    throw error instanceof JsonError ? toFailure(error) : error
  }
  return { items, leftOut: totals.leftOutList.result(), ttlMs: totals.ttlMs }
}
