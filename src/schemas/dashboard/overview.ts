import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from '../shared.ts'
import { SeenClient } from './shared.ts'

/** An item on the list of things that need attention. */
export const Attention = Type.Object({
  kind: StringEnum([
    'server_failing',
    'sign_in_needed',
    'tool_changed',
    'prompt_changed',
    'resource_changed',
    'tool_hidden',
    'prompt_hidden',
    'resource_hidden',
    'items_left_out',
    'group_missing'
  ]),
  name: Type.String({ description: 'Of the server, tool or prompt (qualified), resource (URI) or group' }),
  title: Type.String({ description: 'One line' }),
  detail: Type.Optional(Type.String({ description: 'The cause, in the words of an error' })),
  since: Type.Optional(Type.String({ description: 'ISO 8601' }))
})
export type Attention = Static<typeof Attention>

/** `GET /overview`. */
export const Overview = Type.Object({
  status: StringEnum(['running', 'degraded'], { description: 'degraded: an enabled server fails, or needs a sign-in' }),
  mode: StringEnum(['development']),
  version: Type.String(),
  endpoints: Type.Array(Type.Object({ label: Type.String(), url: Type.String() })),
  server_count: Type.Integer(),
  enabled_count: Type.Integer({ description: 'Servers that are enabled' }),
  connected_count: Type.Integer({ description: 'Servers whose last contact worked' }),
  tool_count: Type.Integer({ description: 'Served by the global endpoint now, as the other counts' }),
  prompt_count: Type.Integer(),
  resource_count: Type.Integer(),
  group_count: Type.Integer(),
  tokens: Type.Integer({ description: 'Estimate of what an agent reads of all tools' }),
  attention: Type.Array(Attention, { description: 'At most 200, the gravest first' }),
  attention_count: Type.Integer(),
  recorded: StringEnum(['nothing', 'calls', 'contents'], {
    description: 'What is kept of calls; contents: their arguments and results too'
  }),
  empty_state: Type.Optional(StringEnum(['no_servers', 'no_calls'], { description: 'What is to be done first' })),
  last_client_at: Type.Optional(
    Type.String({ description: 'When an MCP client last sent a request to this process, ISO 8601' })
  ),
  clients: Type.Array(SeenClient, { description: 'Of all endpoints, at most 20, the newest first' }),
  is_bound_wide: Type.Boolean({ description: 'It listens to other machines, and asks nobody for a token' })
})
export type Overview = Static<typeof Overview>
