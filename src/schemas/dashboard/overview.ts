import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from '../shared.ts'
import { SeenClient } from './shared.ts'

/** An item on the list of things that need attention. */
export const Attention = Type.Object({
  kind: StringEnum([
    'server_failing',
    'sign_in_needed',
    'definitions_held',
    'tool_hidden',
    'prompt_hidden',
    'resource_hidden',
    'items_left_out',
    'group_missing',
    'group_broken',
    'group_tokens'
  ]),
  name: Type.String({
    description: 'Name of the server or group, qualified name of the tool or prompt, or URI of the resource'
  }),
  title: Type.String({ description: 'One line' }),
  detail: Type.Optional(Type.String({ description: 'The cause, as an error message' })),
  since: Type.Optional(Type.String({ description: 'ISO 8601' }))
})
export type Attention = Static<typeof Attention>

/** `GET /overview`. */
export const Overview = Type.Object({
  status: StringEnum(['running', 'degraded'], {
    description: 'degraded: an enabled server is failing or needs a sign-in'
  }),
  mode: StringEnum(['development', 'enterprise']),
  version: Type.String(),
  endpoints: Type.Array(Type.Object({ label: Type.String(), url: Type.String() })),
  server_count: Type.Integer(),
  enabled_count: Type.Integer({ description: 'Servers that are enabled' }),
  connected_count: Type.Integer({ description: 'Servers whose last contact succeeded' }),
  tool_count: Type.Integer({ description: 'Currently served by the global endpoint, like the other counts' }),
  prompt_count: Type.Integer(),
  resource_count: Type.Integer(),
  group_count: Type.Integer(),
  approval_count: Type.Integer({ description: 'Calls on which the viewer may decide now' }),
  tokens: Type.Integer({ description: 'Estimated tokens of all tool definitions' }),
  attention: Type.Array(Attention, { description: 'At most 200, most severe first' }),
  attention_count: Type.Integer(),
  held_count: Type.Integer({ description: 'Definitions that wait for a decision; 0 for users' }),
  recorded: StringEnum(['nothing', 'calls', 'contents'], {
    description: 'What the call log stores; contents: also arguments and results'
  }),
  has_calls: Type.Boolean({ description: 'The call log has an entry' }),
  has_client: Type.Boolean({
    description: 'An MCP client has sent a request to this process, or made one of the newest recorded calls'
  }),
  has_people: Type.Optional(
    Type.Boolean({ description: 'Enterprise mode, for administrators: there are users besides the first one' })
  ),
  last_client_at: Type.Optional(
    Type.String({ description: 'Time of the last request of an MCP client to this process, ISO 8601' })
  ),
  clients: Type.Array(SeenClient, { description: 'Clients of all endpoints, at most 20, most recent first' }),
  is_bound_wide: Type.Boolean({ description: 'Listens on a network address without authentication' })
})
export type Overview = Static<typeof Overview>
