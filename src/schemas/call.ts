import { Type, type Static } from '@sinclair/typebox'
import { ref, StringEnum, Text } from './shared.ts'

const kinds = ['tool', 'prompt', 'resource', 'completion'] as const
const callerKinds = ['development', 'admin', 'user', 'client'] as const
const protocols = ['rest', 'legacy', 'modern'] as const
const outcomes = ['ok', 'tool_error', 'failed', 'timeout', 'cancelled', 'refused'] as const

const sessionModes = ['stateless', 'stateful'] as const
const stages = ['queue', 'start', 'initialize'] as const

const ms = (description: string) => Type.Number({ description })
const optionalMs = (description: string) => Type.Optional(Type.Integer({ description, minimum: 0 }))

/** One entry of the call log; members that do not apply are absent. */
export const Call = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ description: 'When it came in, ISO 8601' }),
    kind: StringEnum(kinds),
    caller_kind: StringEnum(callerKinds),
    caller: Type.String(),
    client: Type.Optional(Type.String({ description: 'How the client names itself in MCP, where it does: any text' })),
    endpoint: Type.String({ description: 'Path of the MCP endpoint, or `/api/v0`' }),
    via: StringEnum(protocols, { description: 'REST, or the era of MCP that the caller speaks' }),
    client_protocol: Type.Optional(Type.String({ description: 'Revision of MCP that the caller speaks' })),
    server: Type.Optional(Type.String({ description: 'Absent where the caller has no such item' })),
    server_protocol: Type.Optional(
      Type.String({ description: 'Revision that the server was spoken to in; absent where the call did not get there' })
    ),
    session_mode: Type.Optional(StringEnum(sessionModes, { description: 'Of the server, as it was then' })),
    item: Type.Optional(
      Type.String({
        description: 'The server’s own name of the tool or prompt, or a URI; of something unknown any text'
      })
    ),
    outcome: StringEnum(outcomes, { description: '`tool_error`: the tool itself says so' }),
    total_ms: ms('From the first look at the request to its answer'),
    upstream_ms: ms('The part of it that the server took, with what had to be waited for before'),
    queue_ms: optionalMs('The part of that in which a place for a process was waited for; absent where nothing was'),
    start_ms: optionalMs('In which a process was started, or an event stream opened'),
    initialize_ms: optionalMs('In which the server was greeted, a process that is new begun to run'),
    ended_in: Type.Optional(
      StringEnum(stages, { description: 'Where it ended before it was with the server; `queue`: before anything' })
    ),
    request_bytes: Type.Integer({ description: 'Of the parameters as they went to the server' }),
    response_bytes: Type.Integer({ description: 'Of the result' }),
    error: Type.Optional(Type.String({ description: 'What went wrong; what a tool itself says is not kept' })),
    request_id: Type.Optional(
      Type.String({ description: '`X-Request-Id` of an answer that is an error, and in the log' })
    ),
    stderr: Type.Optional(
      Type.String({ description: 'The last lines that the process had written when it failed, without secrets' })
    ),
    arguments: Type.Optional(
      Type.String({ description: 'JSON text, cut and without secrets; only where contents are kept' })
    ),
    result: Type.Optional(Type.String({ description: 'As `arguments`' }))
  },
  { $id: 'Call' }
)
export type CallEntry = Static<typeof Call>

export const CallPage = Type.Object(
  {
    calls: Type.Array(ref(Call), { description: 'The newest first, without `arguments`, `result` and `stderr`' }),
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
  cause: Type.Optional(Text({ minLength: 1, description: 'Failed calls of this cause, as `/calls/causes` names it' })),
  text: Type.Optional(
    Text({ minLength: 1, maxLength: 200, description: 'What the item, the caller, the client or the error holds' })
  ),
  caller: Type.Optional(Text({ minLength: 1, description: 'Name of a principal' })),
  endpoint: Type.Optional(Text({ minLength: 1 })),
  min_ms: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Calls that took so many milliseconds, or more'
    })
  ),
  from: Type.Optional(Type.String({ format: 'moment', description: 'Calls of this moment and later, ISO 8601' })),
  to: Type.Optional(Type.String({ format: 'moment', description: 'Calls before this moment, ISO 8601' })),
  before: Type.Optional(Type.String({ format: 'row-id', description: 'Calls older than the one with this id' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 }))
})
export type CallFilter = Static<typeof CallFilter>

/** Failed calls with the same cause. */
const CallCause = Type.Object({
  server: Type.Optional(Type.String()),
  cause: Type.String({ description: 'Their error but for what is quoted, ids and numbers; or their outcome' }),
  calls: Type.Integer(),
  outcome: StringEnum(outcomes, { description: 'Of the newest of them' }),
  error: Type.Optional(Type.String({ description: 'Of the newest of them' }))
})
export type CallCause = Static<typeof CallCause>

export const CallCauses = Type.Object(
  { causes: Type.Array(CallCause, { description: 'At most 20, the most frequent first' }) },
  { $id: 'CallCauses' }
)

export const CausesQuery = Type.Pick(CallFilter, ['from', 'endpoint'])
export type CausesQuery = Static<typeof CausesQuery>
