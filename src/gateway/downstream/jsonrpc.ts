import { isUtf8 } from 'node:buffer'
import { META } from '../../domain/protocol.ts'
import {
  checkUnique,
  JsonError,
  readValue,
  skipSpace,
  valueOf,
  wholeMembers,
  type JsonLimits,
  type Member
} from '../json.ts'

/** Codes of JSON-RPC and of MCP (mcp-proxy.md#modern-wire). */
export const codes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  session: -32000,
  sessionNotFound: -32001,
  legacyResourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022
} as const

/** An answer of the protocol layer: a JSON-RPC error object with its HTTP status (mcp-proxy.md#error-bodies). */
export class ProtocolError extends Error {
  readonly status: number
  readonly code: number
  readonly data: unknown
  /** JSON text of the request's id where it could be read. */
  readonly id: string

  constructor(code: number, message: string, options: { status?: number; data?: unknown; id?: string } = {}) {
    super(message)
    this.name = 'ProtocolError'
    this.code = code
    this.status = options.status ?? 400
    this.data = options.data
    this.id = options.id ?? 'null'
  }
}

export const errorText = (id: string, code: number, message: string, data?: unknown) =>
  `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, ...(data === undefined ? {} : { data }) })}}`

export type MessageKind = 'request' | 'notification' | 'response'

const noMembers: readonly Member[] = []
const noParams: Readonly<Record<string, unknown>> = {}

/** One message of a client, its envelope read and its payload left as text. A class, since there is one for each call. */
export class Message {
  readonly kind: MessageKind
  /** The whole body. */
  readonly text: string
  /** JSON text of the id, `null` for a notification. */
  readonly id: string
  /** Empty for a response. */
  readonly method: string
  /** Where the members of `params` stand in `text`; of `_meta` its own too. */
  readonly paramMembers: readonly Member[]
  readonly #meta: readonly Member[] | undefined
  #params: Readonly<Record<string, unknown>> | null = null

  constructor(kind: MessageKind, text: string, id: string, method = '', paramMembers = noMembers) {
    this.kind = kind
    this.text = text
    this.id = id
    this.method = method
    this.paramMembers = paramMembers
    this.#meta = paramMembers.find(({ key }) => key === '_meta')?.members
  }

  /** The value of a member of `params`. Read for what is ours to decide; never sent on. */
  param(key: string): unknown {
    const found = this.paramMembers.find((member) => member.key === key)
    return found && readValue(this.text, found)
  }

  /** Whether that member of `params` is an object. */
  isObject(key: string): boolean {
    const found = this.paramMembers.find((member) => member.key === key)
    return found !== undefined && this.text[found.start] === '{'
  }

  has(key: string): boolean {
    return this.paramMembers.some((member) => member.key === key)
  }

  /** All values of `params`, an empty object where there are none. */
  get params(): Readonly<Record<string, unknown>> {
    if (this.#params) return this.#params
    const values = this.paramMembers.map(({ key }) => [key, this.param(key)] as const)
    return (this.#params = values.length === 0 ? noParams : Object.fromEntries(values))
  }

  /** Members of `params._meta`, empty where there are none. */
  get metaMembers(): readonly Member[] {
    return this.#meta ?? noMembers
  }

  /** Whether `params._meta` is there, as an object. */
  get hasMeta(): boolean {
    return this.#meta !== undefined
  }

  /** The value of a member of `params._meta`. */
  meta(key: string): unknown {
    const found = this.#meta?.findLast((member) => member.key === key)
    return found && readValue(this.text, found)
  }

  /** JSON text of a member of `params._meta`, undefined where there is none. */
  metaText(key: string): string | undefined {
    return valueOf(this.text, this.#meta ?? noMembers, key)
  }
}

/** Members of `params` that a client may leave out: `null` says the same, in many clients' words. */
const nullableParams = new Set(['arguments', 'cursor', 'context', 'requestState', 'inputResponses', '_meta'])

/** No other value of JSON begins with this letter. */
const isNull = (text: string, { start }: Member) => text[start] === 'n'

const isGiven = (text: string, member: Member) => !isNull(text, member) || !nullableParams.has(member.key)

/** What is read of a message beside its own members. */
const metaPath = ['params', '_meta']

/** Whether a part of a text has more bytes in UTF-8; a short one is not measured. */
export const isLonger = (text: string, start: number, end: number, maxBytes: number): boolean =>
  (end - start) * 3 > maxBytes && (end - start > maxBytes || Buffer.byteLength(text.slice(start, end)) > maxBytes)

const invalid = (message: string, id?: string) =>
  new ProtocolError(codes.invalidRequest, message, id === undefined ? {} : { id })

const isId = (id: unknown): id is string | number =>
  typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id))

/** Reads text as JSON-RPC structure; what is malformed becomes the protocol's own error. */
export function parseStructure<T>(read: () => T, { depth, id }: { depth?: number; id?: string } = {}): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof JsonError && error.problem === 'depth' && depth !== undefined) {
      throw invalid(`JSON is nested deeper than ${depth} levels`, id)
    }
    if (error instanceof JsonError && error.problem !== 'syntax') throw invalid(error.message, id)
    if (error instanceof JsonError || error instanceof SyntaxError) {
      throw new ProtocolError(codes.parse, 'Parse error: the body is not valid JSON')
    }
    throw error
  }
}

/** JSON text of an id that stands as member `key`. A number that a double does not hold stays as it was written. */
export function idText(text: string, found: readonly Member[], key: string, id: unknown): string {
  if (!isId(id)) return 'null'
  if (Number.isSafeInteger(id)) return String(id)
  return (typeof id === 'number' ? valueOf(text, found, key) : undefined) ?? JSON.stringify(id)
}

/** Members of `params`, and of a `ref` in it, that decide who is asked for what. */
const routedMembers = ['name', 'uri', 'ref', 'type', 'arguments', 'requestState', 'inputResponses', '_meta']
/** Members of `_meta` that the gateway reads: they belong to one hop and are set anew on the next. */
export const hopKeys: readonly string[] = [
  'progressToken',
  ...['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel', 'subscriptionId', 'serverInfo'].map(
    (name) => META + name
  )
]

const isPlain = (key: string) => /^[\x21-\x7e]*$/.test(key)
/** Readers that end at NUL, trim, drop invisible characters or fold (the long s is an s) take other keys for the same. */
const foldKey = (key: string) =>
  (isPlain(key) ? key : key.normalize('NFKC').replace(/[\p{C}\p{Z}\p{M}]/gu, '')).toUpperCase().toLowerCase()
/** Everything behind a NUL does not exist for readers in C. */
const upToNul = (key: string) => (key.includes('\0') ? key.slice(0, key.indexOf('\0')) : key)

function createLookalikes(keys: readonly string[]) {
  const exact = new Set(keys)
  const byFolded = new Map(keys.map((key) => [foldKey(key), key]))
  /** The key that another one can be taken for; undefined where there is none. */
  return (key: string) =>
    exact.has(key) ? undefined : (byFolded.get(foldKey(key)) ?? byFolded.get(foldKey(upToNul(key))))
}

const lookalikeOfParam = createLookalikes(routedMembers)
const lookalikeOfMeta = createLookalikes(hopKeys)

/**
 * Some upstreams read members without regard to letter case: `Name` beside `name` would make of a call that is allowed one
 * that nobody has looked at. Covers `params` (or a `ref`) and the `_meta` in it. Throws ProtocolError.
 */
export function refuseLookalikes(found: readonly Member[], id: string): void {
  const refuseIn = (members: readonly Member[], lookalikeOf: (key: string) => string | undefined) => {
    for (const { key } of members) {
      const meant = lookalikeOf(key)
      if (meant === undefined) continue
      throw invalid(`Invalid request: member ${JSON.stringify(key)} can be taken for "${meant}"`, id)
    }
  }
  refuseIn(found, lookalikeOfParam)
  const meta = found.find(({ key }) => key === '_meta')?.members
  if (meta) refuseIn(meta, lookalikeOfMeta)
}

/** The value of a member, undefined where there is none. */
function valueIn(text: string, found: readonly Member[], key: string): unknown {
  const member = found.find((each) => each.key === key)
  return member && readValue(text, member)
}

/** Limits of one message. */
export interface MessageLimits extends JsonLimits {
  /** Longest id and method, in bytes as written in JSON. Absent: any. */
  readonly identifierBytes?: number
}

/** Both are repeated in answers and logs. */
function checkEnvelopeLengths(text: string, found: readonly Member[], { identifierBytes }: MessageLimits): void {
  if (identifierBytes === undefined) return
  for (const { key, start, end } of found) {
    if ((key !== 'id' && key !== 'method') || !isLonger(text, start, end, identifierBytes)) continue
    throw invalid(`Invalid request: "${key}" is longer than ${identifierBytes} bytes`)
  }
}

function toMessage(text: string, found: readonly Member[], limits: MessageLimits): Message {
  const has = (key: string) => found.some((member) => member.key === key)
  checkEnvelopeLengths(text, found, limits)
  const given = valueIn(text, found, 'id')
  const id = idText(text, found, 'id', given)
  if (valueIn(text, found, 'jsonrpc') !== '2.0') throw invalid('Invalid request: "jsonrpc" must be "2.0"', id)
  if (!has('method') && (has('result') || has('error'))) return new Message('response', text, id)
  const method = valueIn(text, found, 'method')
  if (typeof method !== 'string') throw invalid('Invalid request: "method" must be a string', id)
  if (given !== undefined && !isId(given)) throw invalid('Invalid request: "id" must be a string or a number')
  const params = found.find(({ key }) => key === 'params')
  if (params && !params.members && !isNull(text, params))
    throw invalid('Invalid request: "params" must be an object', id)
  const all = params?.members ?? noMembers
  parseStructure(() => checkUnique(all), { id })
  refuseLookalikes(all, id)
  const paramMembers = all.some((member) => isNull(text, member)) ? all.filter((member) => isGiven(text, member)) : all
  return new Message(given === undefined ? 'notification' : 'request', text, id, method, paramMembers)
}

/** A body as text. Throws ProtocolError. */
export function decode(body: Buffer): string {
  if (!isUtf8(body)) throw new ProtocolError(codes.parse, 'Parse error: the body is not valid UTF-8')
  return body.toString()
}

/** True for a JSON array. */
export const isBatch = (text: string) => /^\s*\[/.test(text)

/** Reads one message. Throws ProtocolError with HTTP status 400. */
export function readMessage(text: string, limits: MessageLimits): Message {
  const { depth, elements } = limits
  const found = parseStructure(
    () => {
      if (text[skipSpace(text, 0)] !== '{') {
        JSON.parse(text)
        throw invalid('Invalid request: the body is not a JSON-RPC message')
      }
      const all = wholeMembers(text, { depth: depth - 1, elements, checksStrings: true }, metaPath)
      checkUnique(all)
      return all
    },
    { depth }
  )
  return toMessage(text, found, limits)
}

/** JSON text of the members of `params` without `_meta`, as a fragment without braces; `null` takes a member out. */
export function paramsFragment(
  { text, paramMembers }: Message,
  changes: Readonly<Record<string, string | null>> = {}
): string {
  let fragment = ''
  for (const { key, keyStart, start, end } of paramMembers) {
    if (key === '_meta') continue
    const change = Object.hasOwn(changes, key) ? changes[key] : undefined
    if (change === null) continue
    if (fragment !== '') fragment += ','
    fragment += change === undefined ? text.slice(keyStart, end) : `${text.slice(keyStart, start)}${change}`
  }
  return fragment
}
