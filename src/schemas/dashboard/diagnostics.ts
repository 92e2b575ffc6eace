import { Type, type Static } from '@sinclair/typebox'
import { TRANSPORTS } from '../../domain/transports.ts'
import { Check } from '../check.ts'
import { StringEnum } from '../shared.ts'

/** `GET /diagnostics`. Contains no secret, so that it can be copied into a report. */
export const Diagnostics = Type.Object({
  version: Type.String(),
  node_version: Type.String(),
  mode: StringEnum(['development', 'enterprise']),
  database: StringEnum(['embedded', 'postgresql']),
  enabled_transports: Type.Array(StringEnum(TRANSPORTS)),
  metrics_endpoint: Type.Optional(Type.String()),
  primary_endpoint: Type.String(),
  started_at: Type.String({ description: 'ISO 8601' }),
  checks: Type.Array(Check),
  limits: Type.Array(
    Type.Object({
      name: Type.String(),
      variable: Type.String({ description: 'Environment variable that sets it' }),
      about: Type.String(),
      value: Type.Number(),
      unit: Type.Optional(Type.String())
    }),
    { description: 'Limits and timeouts in effect' }
  ),
  server_count: Type.Integer(),
  tool_count: Type.Integer(),
  prompt_count: Type.Integer(),
  resource_count: Type.Integer(),
  group_count: Type.Integer()
})
export type Diagnostics = Static<typeof Diagnostics>
