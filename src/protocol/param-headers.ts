import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../domain/is-object.ts'
import { elements, members } from '../json/json.ts'

/**
 * Encodes a value for `Mcp-Name` (mcp-proxy.md#modern-wire): unchanged if possible, else base64 of UTF-8 between the
 * sentinels.
 */
export function headerValue(value: string): string {
  const safe = /^(?:[!-~](?:[ -~\t]*[!-~])?)?$/.test(value) && !/^=\?base64\?.*\?=$/i.test(value)
  return safe ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`
}

/** An argument that a modern request repeats in a header (`x-mcp-header`, mcp-proxy.md#parameter-headers). */
export interface ParamHeader {
  /** Full name of the header in lower case. */
  readonly header: string
  /** Property names that lead from the arguments to the value. */
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** Headers declared in a tool's schema, or the problem of the first invalid declaration. */
export interface ParamHeaders {
  readonly headers: readonly ParamHeader[]
  readonly problem: string | undefined
}

const KEY = 'x-mcp-header'
const PREFIX = 'mcp-param-'
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const types = ['string', 'integer', 'boolean'] as const

export const noParamHeaders: ParamHeaders = { headers: [], problem: undefined }

/** Keywords whose members hold data, not schemas. */
const dataKeywords = new Set(['default', 'const', 'enum', 'examples'])
/** Keywords whose members are schemas under names that the author chose. */
const namedSchemas = new Set(['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'])

class Invalid extends Error {}

function readAnnotation(schema: Record<string, unknown>, path: readonly string[] | null): ParamHeader {
  const { [KEY]: name, type } = schema
  if (typeof name !== 'string' || !TOKEN.test(name)) throw new Invalid(`an ${KEY} is not a valid header name`)
  const known = types.find((candidate) => candidate === type)
  if (!known) throw new Invalid(`${KEY} "${name}" is not on a string, an integer or a boolean`)
  if (!path) throw new Invalid(`${KEY} "${name}" is not reachable through properties alone`)
  return { header: PREFIX + name.toLowerCase(), path, type: known }
}

/** Yields the annotations in a schema. `path`: null if the schema is nested in a keyword other than `properties`. */
function* annotations(schema: unknown, path: readonly string[] | null): Generator<ParamHeader> {
  if (Array.isArray(schema)) for (const part of schema) yield* annotations(part, null)
  if (!isObject(schema)) return
  if (Object.hasOwn(schema, KEY)) yield readAnnotation(schema, path)
  for (const [keyword, value] of Object.entries(schema)) {
    if (dataKeywords.has(keyword) || keyword === KEY) continue
    if (!namedSchemas.has(keyword) || !isObject(value)) {
      yield* annotations(value, null)
      continue
    }
    for (const [name, part] of Object.entries(value)) {
      yield* annotations(part, keyword === 'properties' && path ? [...path, name] : null)
    }
  }
}

/** Parses the annotations in a tool's definition, which must be valid JSON. */
export function readParamHeaders(definition: string): ParamHeaders {
  if (!definition.includes(KEY)) return noParamHeaders
  try {
    const { inputSchema } = JSON.parse(definition) as { inputSchema?: unknown }
    const headers = [...annotations(inputSchema, [])]
    const names = new Set(headers.map(({ header }) => header))
    if (names.size < headers.length) throw new Invalid(`two ${KEY} have the same name`)
    return { headers, problem: undefined }
  } catch (error) {
    return { headers: [], problem: error instanceof Invalid ? error.message : 'its definition cannot be read' }
  }
}

/** Removes every annotation from a JSON text, for clients on transports without headers. */
export function withoutParamHeaders(text: string): string {
  if (!text.includes(KEY)) return text
  if (text.startsWith('[')) {
    return `[${elements(text)
      .map(({ start, end }) => withoutParamHeaders(text.slice(start, end)))
      .join(',')}]`
  }
  if (!text.startsWith('{')) return text
  const rest = members(text).filter(({ key }) => key !== KEY)
  const parts = rest.map(
    ({ keyStart, start, end }) => text.slice(keyStart, start) + withoutParamHeaders(text.slice(start, end))
  )
  return `{${parts.join(',')}}`
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value ?? undefined
}

/** Returns header names and values for a modern upstream; arguments of another type than declared are skipped. */
export function paramHeaderPairs({ headers }: ParamHeaders, args: unknown): string[] {
  return headers.flatMap(({ header, path, type }) => {
    const value = valueAt(args, path)
    const isDeclaredType = type === 'integer' ? Number.isInteger(value) : typeof value === type
    return isDeclaredType ? [header, headerValue(String(value))] : []
  })
}

/** Decodes a header value of a modern request; see `mcp/messages/era.ts`. */
type Decode = (value: string) => string | undefined

const isEqual = (value: unknown, given: string, { type }: ParamHeader) =>
  type === 'integer' ? given.trim() !== '' && Number(given) === value : String(value) === given

/**
 * Returns the first header of a modern request that differs from its argument; undefined if all match
 * (mcp-proxy.md#parameter-headers).
 */
export function mismatchedHeader(
  { headers }: ParamHeaders,
  args: unknown,
  given: IncomingHttpHeaders,
  decode: Decode
): { header: string; given: string; body: string } | undefined {
  for (const param of headers) {
    const value = valueAt(args, param.path)
    const raw = given[param.header]
    if (value === undefined && raw === undefined) continue
    const text = typeof raw === 'string' ? decode(raw.trim()) : undefined
    if (value !== undefined && text !== undefined && isEqual(value, text, param)) continue
    return {
      header: param.header,
      given: raw === undefined ? '(missing)' : String(raw),
      body: value === undefined ? '(missing)' : JSON.stringify(value)
    }
  }
  return undefined
}

/** Programs behind CGI, WSGI and the like read both characters alike. */
const foldHeader = (name: string) => name.replaceAll('_', '-')

/** Returns the caller's `Mcp-Param-*` headers that no annotation declares, in any spelling; they are forwarded unchanged. */
export function otherParamHeaders({ headers }: ParamHeaders, given: IncomingHttpHeaders): string[] {
  const others: string[] = []
  for (const name in given) {
    if (!name.startsWith(PREFIX) || headers.some(({ header }) => foldHeader(header) === foldHeader(name))) continue
    const value = given[name]
    if (typeof value === 'string') others.push(name, value)
  }
  return others
}
