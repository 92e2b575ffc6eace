import { Type } from '@sinclair/typebox'
import { OpenObject, ref, StringEnum, Text } from './shared.ts'

const kinds = ['development', 'admin', 'auditor', 'user', 'client', 'system', 'anonymous'] as const
const outcomes = ['begun', 'ok', 'refused', 'failed'] as const

/** One entry of the audit log; members that do not apply are absent. */
export const AuditEntry = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ description: 'ISO 8601' }),
    actor_kind: StringEnum(kinds, { description: 'system: the gateway itself; anonymous: an unauthenticated caller' }),
    actor: Type.String(),
    action: Type.String({ description: 'For example `server.create`' }),
    target: Type.String({ description: 'Object of the action; tools and prompts by qualified name' }),
    outcome: StringEnum(outcomes, {
      description:
        'begun: written before a server is contacted or its command is started; a second entry records the outcome'
    }),
    reason: Type.Optional(Type.String({ description: 'Reason for the refusal or failure' })),
    endpoint: Type.Optional(Type.String({ description: '`global`, or the name of a tool group' })),
    policy: Type.Optional(Type.String({ description: 'Policy that refused the request' })),
    decision: Type.Optional(Type.String({ description: 'Id of the decision, as sent to the caller' })),
    address: Type.Optional(Type.String()),
    request_id: Type.Optional(Type.String()),
    count: Type.Integer({ description: 'Number of events that this entry stands for' }),
    changed: Type.Optional(
      Type.Unsafe<readonly string[]>(Type.Array(Type.String(), { description: 'Names of the changed members' }))
    ),
    before: Type.Optional(OpenObject('Values before the change; for secrets only the names')),
    after: Type.Optional(OpenObject('Values after the change; for an attempt the server contacted or command started')),
    version: Type.Optional(Type.String({ description: 'Registry version that the change created' })),
    purpose: Type.Optional(
      Type.String({ description: 'For `server.attempt` and `server.contact`: the action that caused it' })
    ),
    fingerprint: Type.Optional(
      Type.String({
        description:
          'Keyed hash of command, arguments and environment, or of URL and headers; equal configurations have equal hashes'
      })
    ),
    failure: Type.Optional(Type.String({ description: 'Class of the failure, for example `unreachable`' })),
    duration_ms: Type.Optional(Type.Integer({ description: 'Duration of the contact in milliseconds' })),
    attempt: Type.Optional(Type.String({ description: '`id` of the attempt whose outcome this is' }))
  },
  { $id: 'AuditEntry' }
)

export const AuditPage = Type.Object(
  {
    entries: Type.Array(ref(AuditEntry), { description: 'Newest first' }),
    next_before: Type.Optional(Type.String({ description: '`before` of the next page; absent on the last one' }))
  },
  { $id: 'AuditPage' }
)

export const AuditFilter = Type.Object({
  actor: Type.Optional(Text({ minLength: 1, description: 'Name of a principal' })),
  action: Type.Optional(Text({ minLength: 1 })),
  target: Type.Optional(Text({ minLength: 1 })),
  outcome: Type.Optional(StringEnum(outcomes)),
  from: Type.Optional(Type.String({ format: 'moment', description: 'Entries at or after this time, ISO 8601' })),
  to: Type.Optional(Type.String({ format: 'moment', description: 'Entries before this time, ISO 8601' })),
  before: Type.Optional(Type.String({ format: 'row-id', description: 'Entries older than the one with this id' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 }))
})
