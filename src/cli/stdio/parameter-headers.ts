import { isObject } from '../../domain/is-object.ts'
import { META } from '../../domain/mcp-constants.ts'
import type { Message } from '../../protocol/jsonrpc.ts'
import { requestText } from '../../protocol/jsonrpc-text.ts'
import { headerValue, paramHeaderPairs, readParamHeaders, type ParamHeaders } from '../../protocol/param-headers.ts'
import { parseJson } from './endpoint-failure.ts'
import { readMessages, tooLarge, type Endpoint } from './endpoint.ts'

/** Bounds against a hostile gateway. */
interface Limits {
  /** Pages of the tool list that are read, and their bytes. */
  readonly pages: number
  readonly readBytes: number
  /** Bytes of header names, paths and tool names that are kept; the called tool has as many for itself. */
  readonly keptBytes: number
}

const usualLimits: Limits = { pages: 100, readBytes: 256 * 1024 * 1024, keptBytes: 1024 * 1024 }
const LIST_ID = '"tools-with-headers"'

const nameMembers: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri'
}

/** Returns the headers that repeat members of every modern request (mcp-proxy.md#modern-wire). */
export function standardHeaders(message: Message): Record<string, string> {
  const { method } = message
  const version = message.meta(`${META}protocolVersion`)
  const name = message.param(nameMembers[method] ?? '')
  return {
    'mcp-method': headerValue(method),
    ...(typeof version === 'string' ? { 'mcp-protocol-version': headerValue(version) } : {}),
    ...(typeof name === 'string' ? { 'mcp-name': headerValue(name) } : {})
  }
}

/** Computes the headers that repeat arguments of a tool, which a client on stdio does not send. */
export interface ParameterHeaders {
  /** Returns the headers of a call, as far as the tool's definition is known. */
  of(message: Message): Record<string, string>
  /** Reads the definitions of all tools on behalf of the caller. */
  read(message: Message, signal: AbortSignal): Promise<void>
}

export function createParameterHeaders(endpoint: Endpoint, limits: Limits = usualLimits): ParameterHeaders {
  let byTool: ReadonlyMap<string, ParamHeaders> = new Map()

  /** Resolves with the result of a page, and the bytes of the response. */
  const readPage = async (message: Message, cursor: string | undefined, signal: AbortSignal) => {
    const meta = Object.fromEntries(
      ['protocolVersion', 'clientCapabilities'].map((key) => [META + key, message.meta(META + key)])
    )
    const body = requestText(
      LIST_ID,
      'tools/list',
      JSON.stringify({ _meta: meta, ...(cursor !== undefined && { cursor }) })
    )
    const headers = { ...standardHeaders(message), 'mcp-method': 'tools/list' } as Record<string, string>
    delete headers['mcp-name']
    const response = await endpoint.send({ method: 'POST', headers, body, signal })
    if (!response.ok) throw (await endpoint.readRefusal(response)).failure
    let result: unknown
    let length = 0
    await readMessages(response, { lastEventId: null, retryMs: null }, async (bytes) => {
      length += bytes.length
      if (length > limits.readBytes) throw tooLarge()
      const answer = parseJson(bytes.toString())
      if (isObject(answer) && 'result' in answer) result = answer['result']
    })
    return { result: isObject(result) ? result : {}, length }
  }

  return {
    of(message) {
      const found = message.method === 'tools/call' ? byTool.get(String(message.param('name'))) : undefined
      const pairs = found ? paramHeaderPairs(found, message.param('arguments')) : []
      return Object.fromEntries(pairs.flatMap((name, at) => (at % 2 === 0 ? [[name, pairs[at + 1]!]] : [])))
    },
    async read(message, signal) {
      const read = new Map<string, ParamHeaders>()
      const called = message.param('name')
      let kept = 0
      const keep = (tool: unknown) => {
        if (!isObject(tool) || typeof tool['name'] !== 'string' || read.has(tool['name'])) return
        const name = tool['name']
        const headers = readParamHeaders(JSON.stringify(tool))
        const size = Buffer.byteLength(JSON.stringify([name, headers.headers]))
        const before = name === called ? 0 : kept
        if (headers.headers.length === 0 || before + size > limits.keptBytes) return
        if (name !== called) kept += size
        read.set(name, headers)
      }
      let cursor: string | undefined
      let length = 0
      for (let pages = 0; pages < limits.pages && length < limits.readBytes; pages++) {
        const page = await readPage(message, cursor, signal)
        length += page.length
        const { tools, nextCursor } = page.result
        for (const tool of Array.isArray(tools) ? (tools as unknown[]) : []) keep(tool)
        if (typeof nextCursor !== 'string') break
        cursor = nextCursor
      }
      byTool = read
    }
  }
}
