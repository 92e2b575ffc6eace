import type { ItemKind, OfferedItem } from '../../registry/model.ts'
import { elements, JsonError, members, skipValue, valueOf } from '../json.ts'
import { Call, type Answer, type Sink } from './call.ts'
import type { Connection } from './connection.ts'
import { UpstreamFailure } from './failure.ts'

/** Some servers show tools only to clients that declare these, so whoever reads lists does (proxy page 4.3). */
export const listingCapabilities = '{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{}}'

const pushAnswers = new Map([
  ['roots/list', { kind: 'result', body: Buffer.from('{"roots":[]}') }],
  ['elicitation/create', { kind: 'result', body: Buffer.from('{"action":"cancel"}') }],
  ['sampling/createMessage', { kind: 'error', body: Buffer.from('{"code":-32603,"message":"nobody to ask"}') }]
] as [string, Answer][])
const unknownMethod: Answer = { kind: 'error', body: Buffer.from('{"code":-32601,"message":"Method not found"}') }

/** A push on a session that reads lists belongs to nobody (proxy page 4.3). */
export const answerPush = async (method: string): Promise<Answer> => pushAnswers.get(method) ?? unknownMethod

export const listingSink: Sink = {
  capabilities: listingCapabilities,
  wantsProgress: false,
  notify() {},
  request: answerPush
}

/** Bounds of what is kept of an upstream's lists (security page 6). */
const MAX_PAGES = 1_000
const MAX_ITEMS = 10_000
const MAX_NAME_BYTES = 256
/** What an index row of the registry can hold. */
const MAX_URI_BYTES = 2_048
const MAX_DESCRIPTION_BYTES = 65_536
const MAX_DEFINITION_BYTES = 262_144 + MAX_DESCRIPTION_BYTES

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

const bad = (message: string) => new UpstreamFailure('bad_response', message)

/** One request of our own, bounded by a deadline. */
export async function ask(connection: Connection, method: string, params: string, deadline: number): Promise<Answer> {
  const call = new Call({ method, members: params, meta: '' }, listingSink)
  const stop = () => call.stop(new UpstreamFailure('timeout', `did not answer ${method} in time`))
  const timer = setTimeout(stop, Math.max(0, deadline - performance.now()))
  try {
    return await connection.send(call)
  } finally {
    clearTimeout(timer)
  }
}

interface Page {
  readonly definitions: string[]
  readonly nextCursor: string | undefined
}

function readPage({ body }: Answer, { member, method }: ListKind): Page {
  const text = body.toString()
  const found = members(text)
  const list = found.findLast(({ key }) => key === member)
  if (!list || text[list.start] !== '[') throw bad(`answered ${method} without "${member}"`)
  const cursor = valueOf(text, found, 'nextCursor')
  const nextCursor: unknown = cursor === undefined ? undefined : JSON.parse(cursor)
  return {
    definitions: elements(text, list.start).map(({ start, end }) => text.slice(start, end)),
    nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined
  }
}

function readName(definition: string, key: string): string | undefined {
  if (definition[0] !== '{') return undefined
  const name = valueOf(definition, members(definition), key)
  const value: unknown = name === undefined ? undefined : JSON.parse(name)
  return typeof value === 'string' && value !== '' && !/\0|\p{Surrogate}/u.test(value) ? value : undefined
}

/** Which bound a definition breaks, undefined where it is good. */
function brokenBound(name: string, definition: string, { kind }: ListKind): string | undefined {
  const isNamed = kind === 'tool' || kind === 'prompt'
  if (Buffer.byteLength(name) > (isNamed ? MAX_NAME_BYTES : MAX_URI_BYTES)) return 'its name is too long'
  if (Buffer.byteLength(definition) > MAX_DEFINITION_BYTES) return 'its definition is too large'
  try {
    skipValue(definition, 0)
    return undefined
  } catch (error) {
    if (error instanceof JsonError) return error.message
    throw error
  }
}

function keepGood(definitions: readonly string[], list: ListKind, { warn }: ReadOptions): OfferedItem[] {
  const items = new Map<string, OfferedItem>()
  for (const definition of definitions) {
    const name = readName(definition, list.key)
    const problem = name === undefined ? `it has no usable "${list.key}"` : brokenBound(name, definition, list)
    if (name === undefined || problem !== undefined) warn(`a ${list.kind} of the upstream is left out: ${problem}`)
    else if (!items.has(name)) items.set(name, { kind: list.kind, name, definition })
  }
  return [...items.values()]
}

const METHOD_NOT_FOUND = -32601

async function readList(connection: Connection, list: ListKind, options: ReadOptions): Promise<OfferedItem[]> {
  const definitions: string[] = []
  const cursors = new Set<string>()
  let params = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await ask(connection, list.method, params, options.deadline)
    if (answer.kind === 'error') {
      const { code, message } = JSON.parse(answer.body.toString()) as { code?: number; message?: string }
      if (code === METHOD_NOT_FOUND) return []
      throw bad(`refused ${list.method}: ${String(message).slice(0, 200)}`)
    }
    const { definitions: more, nextCursor } = readPage(answer, list)
    definitions.push(...more)
    if (definitions.length > MAX_ITEMS) throw bad(`lists more than ${MAX_ITEMS} ${list.member}`)
    if (nextCursor === undefined) return keepGood(definitions, list, options)
    if (cursors.has(nextCursor)) throw bad(`repeats a page of ${list.method}`)
    cursors.add(nextCursor)
    params = `"cursor":${JSON.stringify(nextCursor)}`
  }
  throw bad(`has more than ${MAX_PAGES} pages of ${list.method}`)
}

/** All lists that the upstream declares, definitions as the text it sent. Rejects with UpstreamFailure. */
export async function readLists(
  connection: Connection,
  capabilities: Readonly<Record<string, unknown>>,
  options: ReadOptions
): Promise<OfferedItem[]> {
  const items: OfferedItem[] = []
  for (const list of lists) {
    if (capabilities[list.capability] !== undefined) items.push(...(await readList(connection, list, options)))
  }
  return items
}
