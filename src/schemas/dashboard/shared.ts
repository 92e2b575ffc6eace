import { Type, type Static } from '@sinclair/typebox'
import { ServerStatus } from '../server-status.ts'
import { StringEnum, Text } from '../shared.ts'

/** Warnings about an item, shown before agents use it. */
export const Flag = StringEnum(['hidden_characters', 'changed', 'unusable'], {
  description:
    'hidden_characters: its texts contain invisible characters; changed: its definition differs from the accepted one; ' +
    'unusable: the gateway cannot serve it, see `problem`'
})
export type Flag = Static<typeof Flag>

/** Members common to tools, prompts and resources. Texts must be rendered as plain text. */
export const itemMembers = {
  server: Type.String(),
  title: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  enabled: Type.Boolean({ description: 'The item’s own switch; it is usable only if `server_enabled` is also true' }),
  server_enabled: Type.Boolean(),
  server_status: ServerStatus,
  tokens: Type.Integer({ description: 'Estimated tokens of the definition: bytes divided by 4' }),
  changed_at: Type.Optional(
    Type.String({ description: 'ISO 8601; only if the definition differs from the accepted one' })
  ),
  flags: Type.Array(Flag),
  problem: Type.Optional(Type.String({ description: 'Reason why it is unusable' }))
}

/** A client seen at an endpoint, with the name it declares. Texts must be rendered as plain text. */
export const SeenClient = Type.Object({
  name: Type.String(),
  version: Type.Optional(Type.String()),
  endpoint: Type.String({ description: 'Path of the MCP endpoint' }),
  seen: Type.String({ description: 'Time of its last request to this process, ISO 8601' })
})
export type SeenClient = Static<typeof SeenClient>

/** Body of each `PATCH …/enabled`. */
export const EnabledInput = Type.Object({ enabled: Type.Boolean() }, { additionalProperties: false })
export type EnabledInput = Static<typeof EnabledInput>

/** Response of each `PATCH …/enabled`; `name` is the name in the path. */
export const EnabledState = Type.Object({ name: Type.String(), enabled: Type.Boolean() })
export type EnabledState = Static<typeof EnabledState>

/** Path parameter of an item: qualified name or URI, with `/` encoded as `%2F`. */
export const ItemParam = Type.Object({ name: Text({ minLength: 1 }) })

export const DryRunQuery = Type.Object({
  dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Test without storing anything' }))
})
