import { isUtf8 } from 'node:buffer'
import type { ItemKind, LeftOut, OfferedItem } from '../../registry/model.ts'
import { shapeProblem } from '../item-shape.ts'
import { createLeftOut, type LeftOutList, type Problem } from '../left-out.ts'
import { JsonError, members, skipSpace, skipValue, valueOf } from '../json.ts'
import { Payload } from '../payload.ts'
import { withoutLoneSurrogates } from '../surrogates.ts'
import { Call, methodNotFound, type Answer, type Sink } from './call.ts'
import type { Connection } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import { cleanText, looseLimits, readError, toFailure } from './http-message.ts'
import { brokenBound, brokenText, listedTwice } from './item-problems.ts'

/**
 * Some servers show tools only to clients that declare these, so whoever reads lists does
 * (mcp-proxy.md#reading-upstream-lists).
 */
export const listingCapabilities = '{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{}}'

const pushAnswers = new Map([
  ['roots/list', { kind: 'result', body: Payload.of('{"roots":[]}') }],
  ['elicitation/create', { kind: 'result', body: Payload.of('{"action":"cancel"}') }],
  ['sampling/createMessage', { kind: 'error', body: Payload.of('{"code":-32603,"message":"nobody to ask"}') }]
] as [string, Answer][])

/** A push on a session that reads lists belongs to nobody (mcp-proxy.md#reading-upstream-lists). */
export const answerPush = async (method: string): Promise<Answer> => pushAnswers.get(method) ?? methodNotFound

export const listingSink: Sink = {
  capabilities: listingCapabilities,
  wantsProgress: false,
  notify() {},
  request: answerPush
}

/** Bounds of what is kept of an upstream's lists (security-model.md#bounds-of-stored-data). */
const MAX_PAGES = 1_000
const MAX_ITEMS = 10_000
/** A URI that nobody lists is compared with each template, and told of by upstreams as often as they like. */
const MAX_TEMPLATES = 1_000
const maxOf = ({ kind }: { readonly kind: ItemKind }) => (kind === 'template' ? MAX_TEMPLATES : MAX_ITEMS)
/** Elements of one list that are looked at, good or not: each costs some microseconds in which nothing else is done. */
const MAX_ELEMENTS = 2 * MAX_ITEMS
/** All lists of one upstream together. */
const MAX_TOTAL_BYTES = 67_108_864
const MAX_WARNINGS = 10
const LONGEST_TIMER = 2 ** 31 - 1
const METHOD_NOT_FOUND = -32601

interface ListKind {
  readonly kind: ItemKind
  readonly method: string
  readonly member: string
  readonly key: string
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
  }
]

export interface ReadOptions {
  /** `performance.now()` time by which everything must be read. */
  readonly deadline: number
  /** Told of items that are left out, and why. */
  readonly warn: (text: string) => void
}

/** What an upstream lists. */
export interface Lists {
  readonly items: readonly OfferedItem[]
  /** What of it is not in `items`; undefined where that is nothing. */
  readonly leftOut: LeftOut | undefined
  /** After so many milliseconds its first list is outdated, by its own words; undefined where it says nothing. */
  readonly ttlMs: number | undefined
}

const bad = (message: string) => new UpstreamFailure('bad_response', message)

/** One request of our own, bounded by a deadline. `params` are members of params as JSON text. Rejects with UpstreamFailure. */
export async function ask(connection: Connection, method: string, params: string, deadline: number): Promise<Answer> {
  const call = new Call({ method, members: params, meta: '' }, listingSink)
  const stop = () => call.stop(new UpstreamFailure('timeout', `did not answer ${method} in time`))
  const timer = setTimeout(stop, Math.min(Math.max(0, deadline - performance.now()), LONGEST_TIMER))
  try {
    return await connection.send(call)
  } finally {
    clearTimeout(timer)
  }
}

/** The elements of the array at `at` as they came, one by one: a page may hold millions. */
function* elementsOf(text: string, at: number): Generator<string> {
  let i = skipSpace(text, at + 1)
  while (text[i] !== ']') {
    const end = skipValue(text, i, looseLimits)
    yield text.slice(i, end)
    i = skipSpace(text, end)
    if (text[i] === ',') i = skipSpace(text, i + 1)
    else if (text[i] !== ']') throw new JsonError('syntax', `malformed JSON at position ${i}`)
  }
}

/** The value of a member; undefined where there is none or where it cannot be read. */
function parsed(json: string | undefined): unknown {
  try {
    return json === undefined ? undefined : JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The name that a definition gives, which need not be valid JSON; undefined where there is none that can be used. */
function readName(definition: string, key: string): string | undefined {
  try {
    const value = parsed(valueOf(definition, members(definition, 0, looseLimits), key))
    return typeof value === 'string' && value !== '' && !/\0|\p{Surrogate}/u.test(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

const tooMany = (list: ListKind): Problem => ({ code: 'too_many', reason: `more than ${maxOf(list)} are listed` })

/** Takes the good items of one list, in the upstream's order; of two with one name the first. */
function createCollection(list: ListKind, warn: (text: string) => void, left: LeftOutList) {
  const items = new Map<string, OfferedItem>()
  let leftOut = 0
  let seen = 0
  const leaveOut = (name: string | undefined, problem: Problem) => {
    left.add(list.kind, name, problem)
    const label = name === undefined ? '' : ` "${cleanText(name)}"`
    if (++leftOut <= MAX_WARNINGS) warn(`${list.kind}${label} of the upstream is left out: ${problem.reason}`)
  }
  const take = (bytes: Buffer) => {
    const text = bytes.toString()
    const isObject = text.startsWith('{')
    const name = isObject ? readName(text, list.key) : undefined
    const broken = isObject ? brokenText(bytes, text) : undefined
    if (broken !== undefined) return leaveOut(name, broken)
    if (name === undefined) {
      return leaveOut(name, { code: 'no_name', reason: `it has no usable "${list.key}"` })
    }
    if (items.has(name)) return leaveOut(name, listedTwice(list.kind))
    const definition = withoutLoneSurrogates(text)
    const problem = brokenBound(name, definition, list.kind) ?? shapeProblem(list.kind, definition)
    if (problem !== undefined) return leaveOut(name, problem)
    if (items.size === maxOf(list)) return leaveOut(name, tooMany(list))
    items.set(name, { kind: list.kind, name, definition })
  }
  return {
    items,
    get isFull() {
      return items.size === maxOf(list) || seen > MAX_ELEMENTS
    },
    /** One element of the list as it came. False: no more of them are looked at. */
    add(bytes: Buffer): boolean {
      if (++seen <= MAX_ELEMENTS) take(bytes)
      else leaveOut(undefined, tooMany(list))
      return seen <= MAX_ELEMENTS
    },
    finish() {
      if (leftOut > MAX_WARNINGS) warn(`${leftOut - MAX_WARNINGS} more ${list.member} of the upstream are left out`)
    }
  }
}

/** 0 asks to keep nothing: no hint to us, who have to (mcp-proxy.md#cache-hints). */
const isTtl = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

/**
 * Adds the items of one page, which nobody has checked: one that cannot be used does not cost the others. The cursor of the
 * next page, undefined where there is none.
 */
function readPage(
  { body }: Answer,
  { member, method }: ListKind,
  add: (item: Buffer) => boolean,
  sums: Sums
): string | undefined {
  const text = body.latin1
  const found = members(text, 0, looseLimits)
  const list = found.findLast(({ key }) => key === member)
  if (!list || text[list.start] !== '[') throw bad(`answered ${method} without "${member}"`)
  for (const item of elementsOf(text, list.start)) if (!add(Buffer.from(item, 'latin1'))) break
  const ttlMs = parsed(valueOf(text, found, 'ttlMs'))
  if (isTtl(ttlMs)) sums.ttlMs = Math.min(ttlMs, sums.ttlMs ?? Infinity)
  return readCursor(valueOf(text, found, 'nextCursor'), method)
}

/** `json` is one character a byte. What cannot be read must not pass for the end of the list. */
function readCursor(json: string | undefined, method: string): string | undefined {
  if (json === undefined) return undefined
  const bytes = Buffer.from(json, 'latin1')
  const cursor = isUtf8(bytes) ? parsed(bytes.toString()) : undefined
  if (cursor === undefined) throw bad(`answered ${method} with a malformed "nextCursor"`)
  return typeof cursor === 'string' ? cursor : undefined
}

/** Refusals for a method that is not there mean an empty list (mcp-proxy.md#reading-upstream-lists). */
function refusal(answer: Answer, method: string): UpstreamFailure | null {
  const { code, message } = readError(answer)
  return code === METHOD_NOT_FOUND ? null : bad(`refused ${method}: ${message}`)
}

/** What all lists of an upstream have in common. */
interface Sums {
  /** That may still be read. */
  bytes: number
  ttlMs: number | undefined
  readonly left: LeftOutList
}

async function readList(
  connection: Connection,
  list: ListKind,
  { deadline, warn }: ReadOptions,
  sums: Sums
): Promise<OfferedItem[]> {
  const collection = createCollection(list, warn, sums.left)
  const cursors = new Set<string>()
  let params = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await ask(connection, list.method, params, deadline)
    if (answer.kind === 'error') {
      const failure = refusal(answer, list.method)
      if (failure) throw failure
      return []
    }
    sums.bytes -= answer.body.length
    if (sums.bytes < 0) throw new UpstreamFailure('too_large', `lists more than ${MAX_TOTAL_BYTES} bytes`)
    const nextCursor = readPage(answer, list, collection.add, sums)
    if (nextCursor === undefined || collection.isFull) {
      if (nextCursor !== undefined) {
        sums.left.add(list.kind, undefined, tooMany(list))
        warn(`lists more than ${maxOf(list)} ${list.member}, the rest is left out`)
      }
      collection.finish()
      return [...collection.items.values()]
    }
    if (cursors.has(nextCursor)) throw bad(`repeats a page of ${list.method}`)
    cursors.add(nextCursor)
    params = `"cursor":${JSON.stringify(nextCursor)}`
  }
  throw bad(`has more than ${MAX_PAGES} pages of ${list.method}`)
}

/**
 * All lists that the upstream declares, definitions as the text it sent; items that break a bound are left out with a
 * warning (security-model.md#upstream-text). Rejects with UpstreamFailure.
 */
export async function readLists(
  connection: Connection,
  capabilities: Readonly<Record<string, unknown>>,
  options: ReadOptions
): Promise<Lists> {
  const items: OfferedItem[] = []
  const sums: Sums = { bytes: MAX_TOTAL_BYTES, ttlMs: undefined, left: createLeftOut() }
  try {
    for (const list of lists) {
      if (capabilities[list.capability] === undefined) continue
      for (const item of await readList(connection, list, options, sums)) items.push(item)
    }
  } catch (error) {
    throw error instanceof JsonError ? toFailure(error) : error
  }
  return { items, leftOut: sums.left.result(), ttlMs: sums.ttlMs }
}
