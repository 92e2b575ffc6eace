import { Type } from '@sinclair/typebox'
import { OpenObject, ref, StringEnum, Text } from './shared.ts'

const kinds = ['development', 'admin', 'user', 'client', 'system', 'anonymous'] as const
const outcomes = ['begun', 'ok', 'refused', 'failed'] as const

/** One entry of the audit log; members that do not apply are absent. */
export const AuditEntry = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ description: 'ISO 8601' }),
    actor_kind: StringEnum(kinds, { description: 'system: the gateway itself; anonymous: nobody that is known' }),
    actor: Type.String(),
    action: Type.String({ description: 'For example `server.create`' }),
    target: Type.String({ description: 'What it was done to; tools and prompts by their qualified names' }),
    outcome: StringEnum(outcomes, {
      description: 'begun: a server is about to be contacted, or its command started; the outcome has a row of its own'
    }),
    reason: Type.Optional(Type.String({ description: 'Why it was refused, or failed' })),
    endpoint: Type.Optional(Type.String({ description: '`global`, or the name of a tool group' })),
    address: Type.Optional(Type.String()),
    request_id: Type.Optional(Type.String()),
    count: Type.Integer({ description: 'Events that this row stands for' }),
    changed: Type.Optional(
      Type.Unsafe<readonly string[]>(
        Type.Array(Type.String(), { description: 'Names of the members that a change changed' })
      )
    ),
    before: Type.Optional(OpenObject('What they were; of secrets the names alone')),
    after: Type.Optional(OpenObject('What they are; of an attempt what is contacted or started')),
    version: Type.Optional(Type.String({ description: 'Version of the registry that a change made' })),
    purpose: Type.Optional(
      Type.String({ description: 'Of `server.attempt` and `server.contact`: the action that asks for it' })
    ),
    fingerprint: Type.Optional(
      Type.String({
        description: 'Keyed hash of the command, arguments and environment, or URL and headers: the same for the same'
      })
    ),
    failure: Type.Optional(Type.String({ description: 'Class of the failure, for example `unreachable`' })),
    duration_ms: Type.Optional(Type.Integer({ description: 'What the contact took' })),
    attempt: Type.Optional(Type.String({ description: '`id` of the attempt that this is the outcome of' }))
  },
  { $id: 'AuditEntry' }
)

export const AuditPage = Type.Object(
  {
    entries: Type.Array(ref(AuditEntry), { description: 'The newest first' }),
    next_before: Type.Optional(Type.String({ description: '`before` of the next page; absent on the last one' }))
  },
  { $id: 'AuditPage' }
)

export const AuditFilter = Type.Object({
  actor: Type.Optional(Text({ minLength: 1, description: 'Name of a principal' })),
  action: Type.Optional(Text({ minLength: 1 })),
  target: Type.Optional(Text({ minLength: 1 })),
  outcome: Type.Optional(StringEnum(outcomes)),
  from: Type.Optional(Type.String({ format: 'moment', description: 'Rows of this moment and later, ISO 8601' })),
  to: Type.Optional(Type.String({ format: 'moment', description: 'Rows before this moment, ISO 8601' })),
  before: Type.Optional(Type.String({ format: 'row-id', description: 'Rows older than the one with this id' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 }))
})
