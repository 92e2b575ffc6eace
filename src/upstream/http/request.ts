import { META, MODERN_VERSION } from '../../domain/mcp-constants.ts'
import { type OutgoingRequest, logLevelMember } from '../transport/call.ts'
import { requestText } from '../../protocol/jsonrpc-text.ts'
import { traceHeaders } from '../../protocol/trace-context.ts'
import { headerValue } from '../../protocol/param-headers.ts'

const JSON_AND_STREAM = 'application/json, text/event-stream'

const join = (first: string, second: string) => (first === '' || second === '' ? first + second : `${first},${second}`)

/** Builds the JSON-RPC request; `members` and `meta` are JSON text without braces and may be empty. */
const envelope = (id: string, method: string, members: string, meta: string) =>
  requestText(id, method, `{${join(members, meta && `"_meta":{${meta}}`)}}`)

export const legacyBody = (id: string, request: OutgoingRequest, wantsProgress: boolean): string =>
  envelope(
    id,
    request.method,
    request.members,
    wantsProgress ? join(request.meta, `"progressToken":${id}`) : request.meta
  )

/** `fixedMeta` comes from `modernMeta`; `capabilities` is JSON text. */
export const modernBody = (
  id: string,
  request: OutgoingRequest,
  wantsProgress: boolean,
  fixedMeta: string,
  capabilities: string,
  logLevel?: string
): string =>
  envelope(
    id,
    request.method,
    request.members,
    join(
      request.meta,
      `${wantsProgress ? `"progressToken":${id},` : ''}${fixedMeta}${capabilities}${logLevelMember(logLevel)}`
    )
  )

/** Returns the members of `_meta` in every modern request, up to the value of the capabilities, which comes last. */
export const modernMeta = (clientInfo: string) =>
  `"${META}protocolVersion":"${MODERN_VERSION}","${META}clientInfo":${clientInfo},"${META}clientCapabilities":`

/**
 * Returns the headers of every request as the name-value pairs that undici takes. Configured headers never replace
 * those of the protocol.
 */
export function baseHeaders(configured: Readonly<Record<string, string>>, userAgent: string): string[] {
  const fixed = ['content-type', 'accept']
  const headers = ['content-type', 'application/json', 'accept', JSON_AND_STREAM]
  const names = Object.keys(configured)
  if (!names.some((name) => name.toLowerCase() === 'user-agent')) headers.push('user-agent', userAgent)
  for (const name of names) {
    if (!fixed.includes(name.toLowerCase())) headers.push(name, configured[name]!)
  }
  return headers
}

/** Returns the headers for a request without a body that opens an event stream. */
export const streamHeaders = (base: readonly string[]): string[] => ['accept', 'text/event-stream', ...base.slice(4)]

/** Returns the headers that stay the same for a connection. */
export const connectionHeaders = (base: readonly string[], version: string, session: string | null): string[] => [
  ...base,
  'mcp-protocol-version',
  version,
  ...(session === null ? [] : ['mcp-session-id', session])
]

/** Returns the connection's own array if there is no trace; nobody may change it. */
export const legacyHeaders = (connection: string[], { trace }: OutgoingRequest): string[] =>
  trace === undefined ? connection : [...connection, ...traceHeaders(trace)]

export function modernHeaders(
  connection: readonly string[],
  { method, name, headers, trace }: OutgoingRequest
): string[] {
  const own = [...connection, 'mcp-method', method]
  if (name !== undefined) own.push('mcp-name', headerValue(name))
  if (headers !== undefined) own.push(...headers)
  if (trace !== undefined) own.push(...traceHeaders(trace))
  return own
}
