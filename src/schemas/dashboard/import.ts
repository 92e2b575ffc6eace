import { Type, type Static } from '@sinclair/typebox'
import { TRANSPORTS } from '../../domain/transports.ts'
import { AuthorizationRequired } from '../server.ts'
import { explanationMembers, StringEnum, Text, TextList, TextMap } from '../shared.ts'
import { ConfigSummary } from './servers.ts'

/** Body of `POST /servers/import`, with `?dry_run=true` for a preview. */
export const ImportInput = Type.Object(
  {
    configuration: Text({
      minLength: 2,
      maxLength: 1_048_576,
      description: 'The pasted text, in any supported format'
    }),
    names: Type.Optional(TextList({ description: 'Names from the preview to import; if absent, all' })),
    values: Type.Optional(TextMap({ description: 'Values of the placeholders listed in `needs`' })),
    replace: Type.Optional(Type.Boolean({ default: false, description: 'Replace existing servers of the same name' }))
  },
  { additionalProperties: false }
)
export type ImportInput = Static<typeof ImportInput>

/** A server of the pasted text and its import result. */
export const ImportedServer = Type.Object({
  name: Type.String({ description: 'Changed to fit the naming rule if needed' }),
  transport: Type.Optional(StringEnum(TRANSPORTS)),
  config_summary: Type.Optional(ConfigSummary),
  exists: Type.Boolean({ description: 'A server of this name is registered' }),
  problems: Type.Array(Type.String(), { description: 'Reasons why it cannot be registered; empty if it can' }),
  ignored: Type.Array(Type.String(), { description: 'Keys that have no effect' }),
  needs: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Key in `values`' }),
      description: Type.Optional(Type.String()),
      is_secret: Type.Boolean({ description: 'Mask the input' }),
      has_default: Type.Boolean({ description: 'The text contains a default value' })
    }),
    { description: 'Placeholders that need values' }
  ),
  notes: Type.Array(Type.String(), { description: 'Notes about how the entry was interpreted' }),
  result: Type.Optional(
    Type.Object(
      {
        outcome: StringEnum(['added', 'replaced', 'sign_in_needed', 'failed', 'skipped']),
        error: Type.Optional(Type.String()),
        ...explanationMembers,
        stderr: Type.Optional(
          Type.Unsafe<readonly string[]>(Type.Array(Type.String(), { description: 'Last lines of stderr' }))
        ),
        tools: Type.Optional(Type.Array(Type.String(), { description: 'Own names, the first 100' })),
        tool_count: Type.Optional(Type.Integer()),
        authorization_required: Type.Optional(AuthorizationRequired.properties.authorization_required)
      },
      { description: 'Absent in the preview' }
    )
  )
})
export type ImportedServer = Static<typeof ImportedServer>

/** Response of `POST /servers/import`. One failed server does not stop the others. */
export const ImportView = Type.Object({ servers: Type.Array(ImportedServer) })
export type ImportView = Static<typeof ImportView>
