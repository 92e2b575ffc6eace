import { isJsonObject, printJson, type Json, type JsonObject } from '../form/json.ts'
import { keywordsOf } from '../form/schema.ts'

/** What is called with what. */
export interface Call {
  /** Qualified. */
  readonly name: string
  readonly args: JsonObject
  readonly schema: unknown
}

/**
 * Body of `POST /api/v0/tools/invoke`: arguments lie beside `name`, or in `arguments` where they would be taken for
 * something else (decisions "Tools").
 */
export function invokeBody({ name, args, schema }: Call): JsonObject {
  const hasOwnArguments = Object.hasOwn(keywordsOf(keywordsOf(schema).properties), 'arguments')
  const isAlone = Object.keys(args).length === 1 && isJsonObject(args.arguments)
  const isWrapped = Object.hasOwn(args, 'name') || (isAlone && !hasOwnArguments)
  return isWrapped ? { name, arguments: args } : { name, ...args }
}

/** One word for a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** A request to a route of the API. */
export const postCurl = (path: string, body: Json, origin: string): string =>
  [
    `curl -sS ${shellWord(`${origin}${path}`)}`,
    `-H 'Content-Type: application/json'`,
    `-d ${shellWord(printJson(body, 0))}`
  ].join(' \\\n  ')

export const asCurl = (call: Call, origin: string): string => postCurl('/api/v0/tools/invoke', invokeBody(call), origin)

export const asCli = ({ name, args }: Call, program: string): string =>
  `${program} invoke ${shellWord(name)} --input ${shellWord(printJson(args, 0))}`

/** A request as a client of the MCP endpoint sends it. */
export const asJsonRpc = ({ name, args }: Call): string =>
  printJson({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
