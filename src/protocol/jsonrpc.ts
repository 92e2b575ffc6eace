import { isAscii, isUtf8 } from 'node:buffer'
import { META } from '../domain/mcp-constants.ts'
import {
  checkUnique,
  JsonError,
  readValue,
  skipSpace,
  valueOf,
  wholeMembers,
  type JsonLimits,
  type Member
} from '../json/json.ts'

/** Error codes of JSON-RPC and MCP (mcp-proxy.md#modern-wire). */
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

export interface ProtocolErrorOptions {
  readonly status?: number
  readonly data?: unknown
  readonly id?: string
  readonly challenge?: string | undefined
}

/** A JSON-RPC error response with its HTTP status (mcp-proxy.md#error-bodies). */
export class ProtocolError extends Error {
  readonly status: number
  readonly code: number
  readonly data: unknown
  /** JSON text of the request's id, `null` if it could not be read. */
  readonly id: string
  /** Value of `WWW-Authenticate` for HTTP. */
  readonly challenge: string | undefined

  constructor(code: number, message: string, options: ProtocolErrorOptions = {}) {
    super(message)
    this.name = 'ProtocolError'
    this.code = code
    this.status = options.status ?? 400
    this.data = options.data
    this.id = options.id ?? 'null'
    this.challenge = options.challenge
  }
}

export type MessageKind = 'request' | 'notification' | 'response'

const noMembers: readonly Member[] = []
const noParams: Readonly<Record<string, unknown>> = {}

/** One client message: the envelope is parsed, the payload stays text. A class because every call creates one. */
export class Message {
  readonly kind: MessageKind
  /** The message as received. */
  readonly text: string
  /** JSON text of the id, `null` for a notification. */
  readonly id: string
  /** Empty for a response. */
  readonly method: string
  /** Offsets of the members of `params` in `text`, including the members of `_meta`. */
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

  /** Returns the parsed value of a member of `params`. Used for decisions only, never forwarded. */
  param(key: string): unknown {
    const found = this.paramMembers.find((member) => member.key === key)
    return found && readValue(this.text, found)
  }

  /** Returns true if the member of `params` is an object. */
  isObject(key: string): boolean {
    const found = this.paramMembers.find((member) => member.key === key)
    return found !== undefined && this.text[found.start] === '{'
  }

  has(key: string): boolean {
    return this.paramMembers.some((member) => member.key === key)
  }

  /** All parsed values of `params`; an empty object if there are none. */
  get params(): Readonly<Record<string, unknown>> {
    if (this.#params) return this.#params
    const values = this.paramMembers.map(({ key }) => [key, this.param(key)] as const)
    return (this.#params = values.length === 0 ? noParams : Object.fromEntries(values))
  }

  /** Offsets of the members of `params._meta`; empty if there are none. */
  get metaMembers(): readonly Member[] {
    return this.#meta ?? noMembers
  }

  /** True if `params._meta` is an object. */
  get hasMeta(): boolean {
    return this.#meta !== undefined
  }

  /** Returns the parsed value of a member of `params._meta`. */
  meta(key: string): unknown {
    const found = this.#meta?.findLast((member) => member.key === key)
    return found && readValue(this.text, found)
  }

  /** Returns the JSON text of a member of `params._meta`, undefined if absent. */
  metaText(key: string): string | undefined {
    return valueOf(this.text, this.#meta ?? noMembers, key)
  }
}

/** Optional members of `params` for which many clients send `null` instead of leaving them out. */
const nullableParams = new Set(['arguments', 'cursor', 'context', 'requestState', 'inputResponses', '_meta'])

/** `null` is the only JSON value that begins with this letter. */
const isNull = (text: string, { start }: Member) => text[start] === 'n'

const isGiven = (text: string, member: Member) => !isNull(text, member) || !nullableParams.has(member.key)

/** Key path scanned in the same pass as the message's own members. */
const metaPath = ['params', '_meta']

/** Returns true if the range of `text` exceeds `maxBytes` in UTF-8; measures only if its length could exceed it. */
export const isLonger = (text: string, start: number, end: number, maxBytes: number): boolean =>
  (end - start) * 3 > maxBytes && (end - start > maxBytes || Buffer.byteLength(text.slice(start, end)) > maxBytes)

const invalid = (message: string, id?: string) =>
  new ProtocolError(codes.invalidRequest, message, id === undefined ? {} : { id })

const isId = (id: unknown): id is string | number =>
  typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id))

/** Runs `read` and converts JSON errors into the matching ProtocolError. */
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

/** Returns the JSON text of an id. A number that a double cannot represent exactly keeps its original text. */
export function idText(text: string, found: readonly Member[], key: string, id: unknown): string {
  if (!isId(id)) return 'null'
  if (Number.isSafeInteger(id)) return String(id)
  return (typeof id === 'number' ? valueOf(text, found, key) : undefined) ?? JSON.stringify(id)
}

/** Members of `params`, and of a `ref` in it, that decide the target of a request and its arguments. */
const routedMembers = ['name', 'uri', 'ref', 'type', 'taskId', 'arguments', 'requestState', 'inputResponses', '_meta']
/** Hop-by-hop members of `_meta`: the gateway reads them and sets its own on the upstream request. */
export const hopKeys: readonly string[] = [
  'progressToken',
  ...['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel', 'subscriptionId', 'serverInfo'].map(
    (name) => META + name
  )
]

const isPlain = (key: string) => /^[\x21-\x7e]*$/.test(key)
/**
 * Marks beyond 30 in a row, which no text has (UAX 15, Stream-Safe Text Format): their order is normalized in quadratic
 * time. The two half-width marks become marks.
 */
const tooManyMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu
const fold = (key: string): string =>
  (isPlain(key)
    ? key
    : key
        .replace(tooManyMarks, '$1')
        .normalize('NFKC')
        .replace(/[\p{C}\p{Z}\p{M}]/gu, '')
  )
    .toUpperCase()
    .toLowerCase()
/** Characters of keys outside of ASCII that are folded for one message, which takes some 50 ms at most. */
const MAX_FOLDED = 16_384

/** The keys of a message are too long to be folded. */
export class LongKeysError extends Error {}

/**
 * Returns a function that folds the keys of one message like the most lenient parsers read them: case-insensitive (`ſ`
 * equals `s`), compatibility-normalized, without white space and invisible characters. It throws LongKeysError once the
 * keys outside of ASCII have more than 16,384 characters together.
 */
export function createKeyFold(): (key: string) => string {
  let left = MAX_FOLDED
  return (key) => {
    if (!isPlain(key) && (left -= key.length) < 0) throw new LongKeysError('names of members are too long')
    return fold(key)
  }
}

/** Parsers written in C end a key at NUL. */
const cutAtNul = (key: string) => key.slice(0, key.indexOf('\0'))

function createLookalikes(keys: readonly string[]) {
  const exact = new Set(keys)
  const byFolded = new Map(keys.map((key) => [fold(key), key]))
  /** Returns the key that `key` could be mistaken for, undefined if none. */
  return (key: string, foldKey: (key: string) => string) => {
    if (exact.has(key)) return undefined
    const found = byFolded.get(foldKey(key))
    return found === undefined && key.includes('\0') ? byFolded.get(foldKey(cutAtNul(key))) : found
  }
}

const lookalikeOfParam = createLookalikes(routedMembers)
const lookalikeOfMeta = createLookalikes(hopKeys)

/**
 * Rejects keys that a lenient upstream could mistake for one the gateway checks: a case-insensitive parser would read
 * `Name` instead of the `name` that was authorized. Covers `params` (or a `ref`) and its `_meta`. Throws ProtocolError.
 */
export function refuseLookalikes(found: readonly Member[], id: string): void {
  const foldKey = createKeyFold()
  const find = (key: string, lookalikeOf: ReturnType<typeof createLookalikes>) => {
    try {
      return lookalikeOf(key, foldKey)
    } catch (error) {
      if (error instanceof LongKeysError) throw invalid(`Invalid request: ${error.message}`, id)
      throw error
    }
  }
  const refuseIn = (members: readonly Member[], lookalikeOf: ReturnType<typeof createLookalikes>) => {
    for (const { key } of members) {
      const lookalike = find(key, lookalikeOf)
      if (lookalike === undefined) continue
      throw invalid(`Invalid request: member ${JSON.stringify(key)} can be mistaken for "${lookalike}"`, id)
    }
  }
  refuseIn(found, lookalikeOfParam)
  const meta = found.find(({ key }) => key === '_meta')?.members
  if (meta) refuseIn(meta, lookalikeOfMeta)
}

/** Returns the parsed value of a member, undefined if absent. */
function valueIn(text: string, found: readonly Member[], key: string): unknown {
  const member = found.find((each) => each.key === key)
  return member && readValue(text, member)
}

/** Limits of one message. */
export interface MessageLimits extends JsonLimits {
  /** Limit of `id` and `method`, in bytes of their JSON text. Absent: no limit. */
  readonly identifierBytes?: number
}

/** Limits `id` and `method`, because both are repeated in responses and logs. */
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

/** Decodes a request body as UTF-8. Throws ProtocolError. */
export function decode(body: Buffer): string {
  if (!isUtf8(body)) throw new ProtocolError(codes.parse, 'Parse error: the body is not valid UTF-8')
  // of a large body, a string outside of V8's heap: half the time
  return isAscii(body) ? body.toString('latin1') : body.toString()
}

/** Returns true if the body is a JSON array. */
export const isBatch = (text: string) => /^\s*\[/.test(text)

/** Parses one message. `limits.checksStrings` defaults to true. Throws ProtocolError with HTTP status 400. */
export function readMessage(text: string, limits: MessageLimits): Message {
  const { depth, elements, checksStrings = true } = limits
  const found = parseStructure(
    () => {
      if (text[skipSpace(text, 0)] !== '{') {
        JSON.parse(text)
        throw invalid('Invalid request: the body is not a JSON-RPC message')
      }
      const all = wholeMembers(text, { depth: depth - 1, elements, checksStrings }, metaPath)
      checkUnique(all)
      return all
    },
    { depth }
  )
  return toMessage(text, found, limits)
}

/** Does the same as `paramsFragment` for a call whose arguments are replaced. `args`: JSON text of the arguments object. */
export function callFragment(message: Message, changes: Readonly<Record<string, string | null>>, args: string): string {
  const fragment = paramsFragment(message, changes, args)
  if (message.has('arguments')) return fragment
  return fragment === '' ? `"arguments":${args}` : `${fragment},"arguments":${args}`
}

/**
 * Returns the members of `params` except `_meta` as JSON text without braces. `changes` replaces values by key; `null`
 * removes a member. `args` replaces the arguments, if there are any.
 */
export function paramsFragment(
  { text, paramMembers }: Message,
  changes: Readonly<Record<string, string | null>> = {},
  args?: string
): string {
  let fragment = ''
  for (const { key, keyStart, start, end } of paramMembers) {
    if (key === '_meta') continue
    const change =
      key === 'arguments' && args !== undefined ? args : Object.hasOwn(changes, key) ? changes[key] : undefined
    if (change === null) continue
    if (fragment !== '') fragment += ','
    fragment += change === undefined ? text.slice(keyStart, end) : `${text.slice(keyStart, start)}${change}`
  }
  return fragment
}
