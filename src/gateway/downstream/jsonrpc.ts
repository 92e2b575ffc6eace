import { isUtf8 } from 'node:buffer'
import { isObject } from '../../domain/is-object.ts'
import { checkUnique, JsonError, members, skipSpace, valueOf, type JsonLimits, type Member } from '../json.ts'

/** Codes of JSON-RPC and of MCP (proxy page 1.3). */
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

/** An answer of the protocol layer: a JSON-RPC error object with its HTTP status (proxy page 2.3). */
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

/** One message of a client, its envelope read and its payload left as text. */
export interface Message {
  readonly kind: 'request' | 'notification' | 'response'
  /** The whole body. */
  readonly text: string
  /** JSON text of the id, `null` for a notification. */
  readonly id: string
  /** Empty for a response. */
  readonly method: string
  /** Parsed `params`, an empty object where there are none. Read for what is ours to decide; never sent on. */
  readonly params: Readonly<Record<string, unknown>>
  /** Where the members of `params` stand in `text`; of `_meta` its own too. */
  readonly paramMembers: readonly Member[]
}

/** What is read of a message beside its own members. */
const nested = { params: { _meta: {} } } as const
const noMembers: readonly Member[] = []

const invalid = (message: string, id?: string) =>
  new ProtocolError(codes.invalidRequest, message, id === undefined ? {} : { id })

const isId = (id: unknown): id is string | number =>
  typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id))

/** Reads text as JSON-RPC structure; what is malformed becomes the protocol's own error. */
export function structure<T>(read: () => T, { depth, id }: { depth?: number; id?: string } = {}): T {
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
  const isLong = typeof id === 'number' && !Number.isSafeInteger(id)
  return (isLong ? valueOf(text, found, key) : undefined) ?? JSON.stringify(id)
}

/** Members of `params`, and of a `ref` in it, that decide who is asked for what. */
const deciding = new Set(['name', 'uri', 'ref', 'type', 'arguments', 'requestState', 'inputResponses', '_meta'])
/** The long s is an s to readers that fold. */
const folded = (key: string) => key.toUpperCase().toLowerCase()
const foldedDeciding = new Map([...deciding].map((key) => [folded(key), key]))

/**
 * Some upstreams read members without regard to letter case: `Name` beside `name` would make of a call that is allowed one
 * that nobody has looked at. Throws ProtocolError.
 */
export function refuseLookalikes(found: readonly Member[], id: string): void {
  for (const { key } of found) {
    const meant = deciding.has(key) ? undefined : foldedDeciding.get(folded(key))
    if (meant !== undefined) throw invalid(`Invalid request: member "${key}" can be taken for "${meant}"`, id)
  }
}

function toMessage(text: string, found: readonly Member[], body: Record<string, unknown>): Message {
  const id = idText(text, found, 'id', body.id)
  if (body.jsonrpc !== '2.0') throw invalid('Invalid request: "jsonrpc" must be "2.0"', id)
  const isResponse = body.method === undefined && ('result' in body || 'error' in body)
  if (isResponse) return { kind: 'response', text, id, method: '', params: {}, paramMembers: noMembers }
  if (typeof body.method !== 'string') throw invalid('Invalid request: "method" must be a string', id)
  if ('id' in body && !isId(body.id)) throw invalid('Invalid request: "id" must be a string or a number')
  const { params = {}, method } = body
  if (!isObject(params)) throw invalid('Invalid request: "params" must be an object', id)
  const paramMembers = found.find(({ key }) => key === 'params')?.members ?? noMembers
  structure(() => checkUnique(paramMembers), { id })
  refuseLookalikes(paramMembers, id)
  return { kind: 'id' in body ? 'request' : 'notification', text, id, method, params, paramMembers }
}

/** A body as text. Throws ProtocolError. */
export function decode(body: Buffer): string {
  if (!isUtf8(body)) throw new ProtocolError(codes.parse, 'Parse error: the body is not valid UTF-8')
  return body.toString()
}

/** True for a JSON array. */
export const isBatch = (text: string) => /^\s*\[/.test(text)

/** Reads one message. Throws ProtocolError with HTTP status 400. */
export function readMessage(text: string, limits: JsonLimits): Message {
  const { depth, elements } = limits
  const body = structure(
    () => {
      if (text[skipSpace(text, 0)] !== '{') {
        JSON.parse(text)
        throw invalid('Invalid request: the body is not a JSON-RPC message')
      }
      const found = members(text, 0, { depth: depth - 1, elements }, nested)
      checkUnique(found)
      return { found, value: JSON.parse(text) as Record<string, unknown> }
    },
    { depth }
  )
  return toMessage(text, body.found, body.value)
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
