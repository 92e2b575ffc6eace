import { printJson, type Json, type JsonObject } from '../form/json.ts'

/** Tool call: name and arguments. */
export interface Call {
  /** Public name. */
  readonly name: string
  readonly args: JsonObject
}

interface Request {
  /** Path with query. */
  readonly path: string
  readonly body: JsonObject
}

const INVOKE = '/api/v0/tools/invoke'

/**
 * Returns the REST request. Arguments lie beside `name`, or in `arguments` if their names would conflict
 * (http-contract.md#tool-invocation).
 */
export function invokeRequest({ name, args }: Call): Request {
  const isWrapped = Object.hasOwn(args, 'name') || Object.hasOwn(args, 'arguments')
  return isWrapped
    ? { path: `${INVOKE}?arguments=object`, body: { name, arguments: args } }
    : { path: INVOKE, body: { name, ...args } }
}

/** Quotes text as one word of a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** Gateway that a copied command addresses. */
export interface CurlTarget {
  /** Address of the gateway. */
  readonly address: string
  /** Environment variable that holds the access token; absent if the gateway takes none. */
  readonly tokenVariable?: string
}

/** Returns a curl command for an API route. The shell fills in the token, so that the command can be shared. */
export const postCurl = (path: string, body: Json, { address, tokenVariable }: CurlTarget): string =>
  [
    `curl -sS ${shellWord(`${address}${path}`)}`,
    ...(tokenVariable === undefined ? [] : [`-H "Authorization: Bearer $${tokenVariable}"`]),
    `-H 'Content-Type: application/json'`,
    `-d ${shellWord(printJson(body, 0))}`
  ].join(' \\\n  ')

export function asCurl(call: Call, target: CurlTarget): string {
  const { path, body } = invokeRequest(call)
  return postCurl(path, body, target)
}

export const asCli = ({ name, args }: Call, program: string): string =>
  `${program} invoke ${shellWord(name)} --input ${shellWord(printJson(args, 0))}`

/** Returns the request as an MCP client sends it. */
export const asJsonRpc = ({ name, args }: Call): string =>
  printJson({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
