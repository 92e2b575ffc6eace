import { SESSION_MODES } from '../domain/session-modes.ts'
import { Type, type Static } from '@sinclair/typebox'
import { explanationMembers, ref, StringEnum, Text } from './shared.ts'

const kinds = ['tool', 'prompt', 'resource', 'completion'] as const
const callerKinds = ['development', 'admin', 'auditor', 'user', 'client'] as const
const protocols = ['rest', 'legacy', 'modern', 'search'] as const
const outcomes = ['ok', 'task', 'tool_error', 'failed', 'timeout', 'cancelled', 'refused'] as const

const stages = ['queue', 'start', 'initialize'] as const

const ms = (description: string) => Type.Number({ description })
const optionalMs = (description: string) => Type.Optional(Type.Integer({ description, minimum: 0 }))

/** One entry of the call log; members that do not apply are absent. */
export const Call = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ description: 'Time of arrival, ISO 8601' }),
    kind: StringEnum(kinds),
    caller_kind: StringEnum(callerKinds),
    caller: Type.String(),
    client: Type.Optional(Type.String({ description: 'Name that the MCP client declared for itself; untrusted text' })),
    oauth_client: Type.Optional(Type.String({ description: 'Id of the OAuth client through which the person called' })),
    scopes: Type.Optional(
      Type.String({ description: 'Scopes of the access token that policies can require, separated by spaces' })
    ),
    endpoint: Type.String({ description: 'Path of the MCP endpoint, or `/api/v0`' }),
    via: StringEnum(protocols, {
      description: 'REST, or the MCP era of the caller; search: through a tool of search mode, in either era'
    }),
    client_protocol: Type.Optional(Type.String({ description: 'MCP revision of the caller' })),
    server: Type.Optional(Type.String({ description: 'Absent if the item is unknown to the caller' })),
    server_protocol: Type.Optional(
      Type.String({ description: 'MCP revision used with the server; absent if the call did not reach it' })
    ),
    session_mode: Type.Optional(
      StringEnum(SESSION_MODES, { description: 'Session mode of the server at the time of the call' })
    ),
    item: Type.Optional(
      Type.String({
        description:
          'The server’s own name of the tool or prompt, or the URI of the resource; as sent by the caller if unknown'
      })
    ),
    outcome: StringEnum(outcomes, {
      description:
        '`tool_error`: the tool reported an error; `task`: the server started a task, whose end has an entry of its own'
    }),
    total_ms: ms('Time from the start of processing to the response; at the end of a task: since its start'),
    upstream_ms: ms('Part of `total_ms` spent on the server, including queueing and connecting'),
    queue_ms: optionalMs('Part of `upstream_ms` spent waiting for a free process; absent if there was no wait'),
    start_ms: optionalMs('Part of `upstream_ms` spent starting a process or opening an event stream'),
    initialize_ms: optionalMs(
      'Part of `upstream_ms` spent on the MCP handshake, including the start-up of a new process'
    ),
    ended_in: Type.Optional(
      StringEnum(stages, {
        description: 'Stage in which the call ended before it reached the server; `queue`: before any other stage'
      })
    ),
    request_bytes: Type.Integer({ description: 'Size of the parameters sent to the server' }),
    response_bytes: Type.Integer({ description: 'Size of the result' }),
    error: Type.Optional(
      Type.String({
        description: 'Error message; for `tool_error` the first 300 characters of what the tool said, secrets removed'
      })
    ),
    request_id: Type.Optional(
      Type.String({ description: 'Same as `X-Request-Id` of an error response and `request_id` in the log' })
    ),
    held_since: Type.Optional(
      Type.String({
        description:
          'Of a call that failed: since when the server’s definition of the item had been held, ISO 8601; not for users'
      })
    ),
    ...explanationMembers,
    stderr: Type.Optional(
      Type.String({ description: 'Last lines of the process’s stderr before the failure, secrets removed' })
    ),
    arguments: Type.Optional(
      Type.String({ description: 'JSON text, truncated, secrets removed; only if recording of contents is on' })
    ),
    result: Type.Optional(Type.String({ description: 'Same as `arguments`' }))
  },
  { $id: 'Call' }
)
export type CallEntry = Static<typeof Call>

export const CallPage = Type.Object(
  {
    calls: Type.Array(ref(Call), { description: 'Newest first, without `arguments`, `result` and `stderr`' }),
    next_before: Type.Optional(Type.String({ description: '`before` of the next page; absent on the last one' }))
  },
  { $id: 'CallPage' }
)

export const CallFilter = Type.Object({
  server: Type.Optional(Text({ minLength: 1 })),
  tool: Type.Optional(Text({ minLength: 1, description: 'Qualified name, `<server>__<tool>`' })),
  kind: Type.Optional(StringEnum(kinds)),
  outcome: Type.Optional(StringEnum(outcomes)),
  failed: Type.Optional(
    Type.Boolean({ description: 'true: only `tool_error`, `failed` and `timeout`; false: only the others' })
  ),
  cause: Type.Optional(Text({ minLength: 1, description: 'Failed calls with this `cause` from `/calls/causes`' })),
  text: Type.Optional(
    Text({ minLength: 1, maxLength: 200, description: 'Text contained in the item, caller, client or error' })
  ),
  caller: Type.Optional(Text({ minLength: 1, description: 'Name of a principal' })),
  endpoint: Type.Optional(Text({ minLength: 1 })),
  min_ms: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Minimum duration in milliseconds'
    })
  ),
  from: Type.Optional(Type.String({ format: 'moment', description: 'Calls at or after this time, ISO 8601' })),
  to: Type.Optional(Type.String({ format: 'moment', description: 'Calls before this time, ISO 8601' })),
  before: Type.Optional(Type.String({ format: 'row-id', description: 'Calls older than the one with this id' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 }))
})
export type CallFilter = Static<typeof CallFilter>

/** Failed calls with the same cause. */
const CallCause = Type.Object({
  server: Type.Optional(Type.String()),
  cause: Type.String({
    description: 'Common error without quoted parts, ids and numbers; the outcome if there is no error'
  }),
  calls: Type.Integer(),
  outcome: StringEnum(outcomes, { description: 'Of the newest call' }),
  error: Type.Optional(Type.String({ description: 'Of the newest call' }))
})
export type CallCause = Static<typeof CallCause>

export const CallCauses = Type.Object(
  { causes: Type.Array(CallCause, { description: 'At most 20, most frequent first' }) },
  { $id: 'CallCauses' }
)

export const CausesQuery = Type.Pick(CallFilter, ['from', 'endpoint'])
export type CausesQuery = Static<typeof CausesQuery>
