import { definitionKinds, warningRules } from '../domain/definitions/kinds.ts'
import { Type, type Static } from '@sinclair/typebox'
import { ref, StringEnum, Text } from './shared.ts'

const Fingerprint = Type.String({
  pattern: '^sha256:[0-9a-f]{64}$',
  description: '`sha256:` and the hash of what counts in the definition'
})
/** Policy of a server for definitions that nobody has accepted. */
export const DefinitionPolicyName = StringEnum(['follow', 'pin', 'block'], {
  description:
    'Treatment of definitions that differ from the accepted ones. follow: they are served at once; pin: the accepted ones ' +
    'are served, new items are not; block: such items are not served. Default: `TOWPATH_DEFINITIONS`'
})

/** Body of `PUT /servers/{name}/definitions`. */
export const DefinitionPolicyInput = Type.Object(
  {
    policy: Type.Union([DefinitionPolicyName, Type.Null()], { description: 'null: `TOWPATH_DEFINITIONS`' })
  },
  { $id: 'DefinitionPolicyInput', additionalProperties: false }
)

const Kind = StringEnum([...definitionKinds], {
  description: '`instructions`: those of the server, also under this name'
})

export const StateFilter = StringEnum(['held', 'new', 'changed', 'rejected', 'accepted', 'all'], {
  description: 'held: new and changed ones. Default: held'
})
export type StateFilter = Static<typeof StateFilter>

const DefinitionChange = Type.Object({
  member: Type.String({ description: 'Member of the definition, such as `description` or `_meta.ui`' }),
  before: Type.Union([Type.String(), Type.Null()], {
    description: 'null: absent, or not known. Values that are no texts are JSON. Hidden characters look like [U+200B]'
  }),
  after: Type.Union([Type.String(), Type.Null()])
})
export type DefinitionChange = Static<typeof DefinitionChange>

const Warning = Type.Object({
  rule: StringEnum([...warningRules]),
  member: Type.String({ description: 'Member of the definition in which it was found' })
})

/** A definition and whether it was accepted (pinned-definitions.md). Texts must be rendered as plain text. */
export const Definition = Type.Object(
  {
    server: Type.String(),
    kind: Kind,
    name: Type.String({ description: 'Name or URI at the server' }),
    state: StringEnum(['accepted', 'new', 'changed', 'rejected']),
    since: Type.String({ format: 'date-time', description: 'Time of the last change of the definition' }),
    policy: StringEnum(['follow', 'pin', 'block'], {
      description: 'Of the server: what is served while it is not accepted'
    }),
    fingerprint: { ...Fingerprint, description: 'Of the present definition; to be sent with a decision' },
    pinned_fingerprint: Type.Optional({
      ...Fingerprint,
      description: 'Of the accepted definition; absent for new items'
    }),
    changes: Type.Array(DefinitionChange),
    warnings: Type.Array(Warning, { description: 'Found by fixed rules; they decide nothing' }),
    origin: Type.Optional(
      Type.Array(DefinitionChange, {
        description:
          'What differs of the server since its definitions were accepted: `server_info_name`, `command`, `url` (its origin)'
      })
    )
  },
  { $id: 'Definition' }
)
export type Definition = Static<typeof Definition>

export const DefinitionPage = Type.Object(
  {
    items: Type.Array(Type.Unsafe<Definition>(ref(Definition))),
    next_cursor: Type.Optional(Type.String({ description: 'Cursor of the next page; absent on the last one' }))
  },
  { $id: 'DefinitionPage' }
)
export type DefinitionPage = Static<typeof DefinitionPage>

export const DefinitionQuery = Type.Object({
  state: Type.Optional(StateFilter),
  server: Type.Optional(Text({ minLength: 1 })),
  cursor: Type.Optional(Text({ minLength: 1, maxLength: 4_096 }))
})

/** Definitions of one decision; the audit log has all their fingerprints. */
const MAX_DECIDED = 200

/** Body of `POST /definitions/accept` and `/reject`. */
export const DefinitionDecision = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        { server: Text({ minLength: 1 }), kind: Kind, name: Text({ minLength: 1 }), fingerprint: Fingerprint },
        { additionalProperties: false }
      ),
      { minItems: 1, maxItems: MAX_DECIDED }
    )
  },
  { $id: 'DefinitionDecision', additionalProperties: false }
)
export type DefinitionDecision = Static<typeof DefinitionDecision>

/** Fingerprints by kind and name, such as `tool add`. */
export const Pins = Type.Unsafe<Readonly<Record<string, string>>>({
  type: 'object',
  propertyNames: { type: 'string', format: 'text', maxLength: 2_100 },
  additionalProperties: Fingerprint,
  maxProperties: 20_000,
  description:
    'Accepted definitions: fingerprints by kind and name, such as `tool add`. In a registration exactly these are accepted'
})

export const Lock = Type.Object(
  { servers: Type.Record(Type.String(), Type.Object({ pins: Pins }), { description: 'By name of the server' }) },
  { $id: 'Lock' }
)
export type Lock = Static<typeof Lock>
