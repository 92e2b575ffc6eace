import { Type } from '@sinclair/typebox'
import { ErrorBody, statusDescriptions, OpenObject, ref, type ErrorStatus } from './shared.ts'

const Id = Type.Unsafe<string | number>({ type: ['string', 'integer'] })

/** Envelope of all MCP messages; their content is defined by the MCP specification. */
export const JsonRpcMessage = Type.Object(
  {
    jsonrpc: Type.Unsafe<'2.0'>({ type: 'string', enum: ['2.0'] }),
    id: Type.Optional(Id),
    method: Type.Optional(Type.String({ description: 'In requests and notifications' })),
    params: Type.Optional(OpenObject()),
    result: Type.Optional(OpenObject('In responses')),
    error: Type.Optional(
      Type.Object(
        { code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) },
        { description: 'In error responses' }
      )
    )
  },
  { $id: 'JsonRpcMessage', description: 'A JSON-RPC 2.0 request, notification or response' }
)

/** JSON-RPC error returned by an MCP endpoint. */
export const JsonRpcError = Type.Object(
  {
    jsonrpc: Type.Unsafe<'2.0'>({ type: 'string', enum: ['2.0'] }),
    id: Type.Unsafe<string | number | null>({ type: ['string', 'integer', 'null'] }),
    error: Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) })
  },
  { $id: 'JsonRpcError' }
)

const tags = ['mcp']
const json = (schema: object) => ({ 'application/json': { schema } })
const stream = { 'text/event-stream': { schema: Type.String() } }

const message = ref(JsonRpcMessage)
const messages = Type.Unsafe<unknown>({
  anyOf: [message, Type.Array(message, { description: 'A batch (2025-03-26)' })]
})

/** Returns error responses whose body is `{error}` or a JSON-RPC error. */
const mcpErrorResponses = (...statuses: readonly ErrorStatus[]) =>
  Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: statusDescriptions[status],
        content: json(Type.Unsafe({ anyOf: [ref(ErrorBody), ref(JsonRpcError)] }))
      }
    ])
  )

const groupPrefix = (url: string) => (url.includes(':name') ? 'Group' : '')
const groupSuffix = (url: string) => (url.includes(':name') ? ' of a tool group' : '')
const params = (url: string) => (url.includes(':name') ? { params: Type.Object({ name: Type.String() }) } : {})

const sessionHeader = Type.Optional(
  Type.String({ description: 'From the response to `initialize`, in revisions up to 2025-11-25' })
)
const versionHeader = Type.Optional(Type.String({ description: 'Revision of the protocol, for example 2025-11-25' }))

/** `POST /mcp`. `url` is the path of the endpoint, global or of a group, in all functions below. */
export const sendMessage = (url: string) => ({
  tags,
  operationId: `send${groupPrefix(url)}McpMessage`,
  summary: `Send a message to the MCP endpoint${groupSuffix(url)}`,
  description:
    'The streamable HTTP transport, for revisions with and without sessions. A client must accept both `application/json` and `text/event-stream`.',
  ...params(url),
  headers: Type.Object({ 'Mcp-Session-Id': sessionHeader, 'MCP-Protocol-Version': versionHeader }),
  body: messages,
  response: {
    200: {
      description: 'The response, or an event stream that ends with it',
      content: { ...json(messages), ...stream }
    },
    202: Type.Null({ description: 'Notification or response accepted' }),
    ...mcpErrorResponses(400, 404, 406, 429, 500, 503)
  }
})

/** `GET /mcp`. */
export const openStream = (url: string) => ({
  tags,
  operationId: `open${groupPrefix(url)}McpStream`,
  summary: `Open the listening stream of a session of the MCP endpoint${groupSuffix(url)}`,
  ...params(url),
  headers: Type.Object({
    'Mcp-Session-Id': sessionHeader,
    'MCP-Protocol-Version': versionHeader,
    'Last-Event-ID': Type.Optional(Type.String({ description: 'Resume after this event' }))
  }),
  response: {
    200: { description: 'Messages, until either side ends it', content: stream },
    ...mcpErrorResponses(400, 404, 405, 406, 429, 500, 503)
  }
})

/** `DELETE /mcp`. */
export const endSession = (url: string) => ({
  tags,
  operationId: `end${groupPrefix(url)}McpSession`,
  summary: `End a session of the MCP endpoint${groupSuffix(url)}`,
  ...params(url),
  headers: Type.Object({ 'Mcp-Session-Id': sessionHeader }),
  response: {
    200: Type.Null({ description: 'The session has ended' }),
    ...mcpErrorResponses(400, 404, 405, 429, 500, 503)
  }
})

/** `GET /sse`. */
export const openSse = (url: string) => ({
  tags,
  operationId: `open${groupPrefix(url)}SseStream`,
  summary: `Open a session of the HTTP+SSE transport${groupSuffix(url)}`,
  description: 'The transport of 2024-11-05. The first event contains the URL for posting messages.',
  ...params(url),
  response: {
    200: { description: 'Messages, until either side ends it', content: stream },
    ...mcpErrorResponses(400, 404, 406, 429, 500, 503)
  }
})

/** `POST /message`. */
export const sendToSse = (url: string) => ({
  tags,
  operationId: `send${groupPrefix(url)}SseMessage`,
  summary: `Send a message to a session of the HTTP+SSE transport${groupSuffix(url)}`,
  ...params(url),
  querystring: Type.Object({
    sessionId: Type.Optional(Type.String({ description: 'From the first event of the stream' }))
  }),
  body: messages,
  response: {
    202: {
      description: 'Accepted; the response arrives on the stream',
      content: { 'text/plain': { schema: Type.String() } }
    },
    ...mcpErrorResponses(400, 404, 429, 500, 503)
  }
})
