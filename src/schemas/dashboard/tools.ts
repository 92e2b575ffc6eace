import { Type, type Static } from '@sinclair/typebox'
import { OpenObject } from '../shared.ts'
import { itemMembers } from './shared.ts'

/** A tool of the dashboard. */
export const ToolView = Type.Object({
  name: Type.String({ description: 'The upstream’s own name' }),
  canonical_name: Type.String({ description: '`<server>__<tool>`, used in routes and by callers' }),
  ...itemMembers,
  input_schema: OpenObject('JSON Schema as received from the upstream'),
  output_schema: Type.Optional(OpenObject('JSON Schema as received from the upstream')),
  annotations: Type.Optional(OpenObject())
})
export type ToolView = Static<typeof ToolView>

/** `GET /tools`: tools of all servers, including disabled ones, by server and then in the upstream's order. */
export const ToolsView = Type.Object({ tools: Type.Array(ToolView) })
export type ToolsView = Static<typeof ToolsView>
