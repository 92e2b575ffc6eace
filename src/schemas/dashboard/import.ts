import { Type, type Static } from '@sinclair/typebox'
import { AuthorizationRequired } from '../server.ts'
import { StringEnum, Text, TextList, TextMap } from '../shared.ts'
import { ConfigSummary } from './servers.ts'

/** Body of `POST /servers/import`, with `?dry_run=true` for a preview. */
export const ImportInput = Type.Object(
  {
    configuration: Text({ minLength: 2, maxLength: 1_048_576, description: 'The pasted text, in any format of 3.5' }),
    names: Type.Optional(TextList({ description: 'Only servers that the preview calls so; absent: all' })),
    values: Type.Optional(TextMap({ description: 'What stands for the placeholders that `needs` names' })),
    replace: Type.Optional(Type.Boolean({ default: false, description: 'Servers of these names give way' }))
  },
  { additionalProperties: false }
)
export type ImportInput = Static<typeof ImportInput>

/** A server of the pasted text and its import result. */
export const ImportedServer = Type.Object({
  name: Type.String({ description: 'Cleaned to the rule of names' }),
  transport: Type.Optional(StringEnum(['stdio', 'streamable_http', 'sse'])),
  config_summary: Type.Optional(ConfigSummary),
  exists: Type.Boolean({ description: 'A server of this name is registered' }),
  problems: Type.Array(Type.String(), { description: 'Why it cannot be registered; empty: it can be tried' }),
  ignored: Type.Array(Type.String(), { description: 'Keys that say nothing here' }),
  needs: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Of the value in `values`' }),
      description: Type.Optional(Type.String()),
      is_secret: Type.Boolean({ description: 'Not to be shown while it is typed' }),
      has_default: Type.Boolean({ description: 'The text holds a value for where none is given' })
    }),
    { description: 'Placeholders whose values are asked for' }
  ),
  notes: Type.Array(Type.String(), { description: 'What was made of it, where that is not plain' }),
  result: Type.Optional(
    Type.Object(
      {
        outcome: StringEnum(['added', 'replaced', 'sign_in_needed', 'failed', 'skipped']),
        error: Type.Optional(Type.String()),
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
