import { SESSION_MODES } from '../../domain/session-modes.ts'
import { Type, type Static } from '@sinclair/typebox'
import { DefinitionPolicyName } from '../definition.ts'
import { TRANSPORTS } from '../../domain/transports.ts'
import { LeftOutItem } from '../left-out.ts'
import { explanationMembers, OpenObject, ref, StringEnum, Text, TextList } from '../shared.ts'
import { ServerInput, StartCost } from '../server.ts'
import { ServerStatus } from '../server-status.ts'

/** A configuration without secrets: no header or variable values, no secret parts of URLs and arguments. */
export const ConfigSummary = Type.Object({
  kind: StringEnum(['http', 'stdio']),
  target: Type.Optional(Type.String({ description: 'URL without user information; query values are `***`' })),
  command: Type.Optional(Type.String()),
  args: Type.Optional(Type.Array(Type.String(), { description: 'Secret parts are `***`' })),
  env_keys: Type.Optional(Type.Array(Type.String())),
  header_keys: Type.Optional(Type.Array(Type.String())),
  session_mode: StringEnum(SESSION_MODES),
  apps: Type.Optional(Type.Boolean({ description: 'false: tools are served without their interfaces; else absent' })),
  trusted_annotations: Type.Optional(
    Type.Boolean({ description: 'true: `allow` policies believe the annotations of its tools; else absent' })
  ),
  definitions: Type.Optional(DefinitionPolicyName),
  has_bearer_token: Type.Optional(Type.Boolean()),
  has_oauth_client: Type.Optional(Type.Boolean({ description: 'An OAuth client id is configured' })),
  has_oauth_client_secret: Type.Optional(Type.Boolean()),
  oauth_scopes: Type.Optional(Type.Array(Type.String())),
  oauth_issuer: Type.Optional(Type.String({ description: 'The pinned authorization server' })),
  oauth_assume_pkce: Type.Optional(Type.Boolean({ description: 'Sign-ins use PKCE even if it is not announced' }))
})
export type ConfigSummary = Static<typeof ConfigSummary>

const counts = { calls: Type.Integer(), failed: Type.Integer({ description: '`tool_error`, `failed`, `timeout`' }) }

/** Calls of the last 24 hours. `half_hours` has 48 entries, oldest first; the last one is still running. */
export const ServerStats = Type.Object({
  ...counts,
  p50_ms: Type.Optional(Type.Number()),
  p95_ms: Type.Optional(Type.Number()),
  from: Type.String({ description: 'Start of the first half-hour, ISO 8601' }),
  half_hours: Type.Array(Type.Object(counts))
})
export type ServerStats = Static<typeof ServerStats>

const view = {
  name: Type.String(),
  description: Type.Optional(Type.String()),
  transport: StringEnum(TRANSPORTS),
  enabled: Type.Boolean(),
  status: ServerStatus,
  status_since: Type.Optional(Type.String({ description: 'ISO 8601' })),
  last_error: Type.Optional(Type.String({ description: 'Error of the failed contact, secrets removed' })),
  last_stderr: Type.Optional(Type.String({ description: 'Line of stderr that says best why the contact failed' })),
  ...explanationMembers,
  tool_count: Type.Integer(),
  prompt_count: Type.Integer(),
  resource_count: Type.Integer({ description: 'Including templates' }),
  skill_count: Type.Integer(),
  left_out_count: Type.Integer({ description: 'Items that the server lists but the gateway does not serve' }),
  held_count: Type.Integer({ description: 'Definitions that wait for a decision' }),
  last_discovered_at: Type.Optional(Type.String({ description: 'Time when its lists were last read, ISO 8601' })),
  updated_at: Type.String({ description: 'Time when the server or its items last changed, ISO 8601' }),
  recorded_until: Type.Optional(
    Type.String({ description: 'Contents of its calls are recorded until then, ISO 8601; absent if they are not' })
  ),
  start_cost: Type.Optional(ref(StartCost)),
  save_failure: Type.Optional(Type.String({ description: 'Why it was saved disabled, without lists' })),
  config_summary: ConfigSummary,
  stats_24h: Type.Optional(ServerStats)
}

/** A row of the Servers page, also returned by writes. */
export const ServerView = Type.Object(view)
export type ServerView = Static<typeof ServerView>

/** `GET /servers`, sorted by name. */
export const ServersView = Type.Object({ servers: Type.Array(ServerView) })
export type ServersView = Static<typeof ServersView>

/** `GET /servers/:name`: the row and the details of the server's page. */
export const ServerDetails = Type.Object({
  ...view,
  protocol: Type.Optional(
    Type.Object({
      modern: Type.Optional(Type.String({ description: 'Modern revision that the server supports' })),
      legacy: Type.Optional(Type.String({ description: 'Revision negotiated by `initialize`' })),
      has_sessions: Type.Boolean(),
      checked_at: Type.String({ description: 'ISO 8601' })
    })
  ),
  server_info: Type.Optional(OpenObject('As reported by the upstream')),
  capabilities: Type.Optional(OpenObject('As reported by the upstream')),
  instructions: Type.Optional(Type.String({ description: 'As they are served' })),
  definition_policy: Type.Optional(DefinitionPolicyName),
  left_out: Type.Array(ref(LeftOutItem), { description: 'Items not served, the first 100' }),
  issuer: Type.Optional(Type.String({ description: 'Authorization server of the sign-in' })),
  registered_at: Type.String({ description: 'ISO 8601' }),
  last_connected_at: Type.Optional(Type.String({ description: 'Time of the last successful contact, ISO 8601' })),
  sessions: Type.Integer({ description: 'Open sessions with the server' }),
  idle_sessions: Type.Integer({ description: 'Sessions kept for their callers and currently idle' }),
  spare_sessions: Type.Integer({ description: 'Spare sessions ready for the next call of any caller' }),
  processes: Type.Integer({ description: 'Processes of the server that this gateway runs' }),
  stderr: Type.Array(Type.String(), { description: 'Last lines on stderr, newest last' })
})
export type ServerDetails = Static<typeof ServerDetails>

const {
  name: _name,
  transport,
  description,
  session_mode,
  oauth_redirect_uri,
  oauth_issuer,
  oauth_assume_pkce,
  apps,
  trusted_annotations,
  definitions
} = ServerInput.properties
const keepable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description }))
const keepableMap = (description: string) =>
  Type.Optional(
    Type.Unsafe<Readonly<Record<string, string | null>>>({
      type: 'object',
      propertyNames: { type: 'string', format: 'text', maxLength: 1_024 },
      additionalProperties: { type: ['string', 'null'], format: 'text', maxLength: 131_072 },
      maxProperties: 1_000,
      description
    })
  )

/**
 * Body of `PUT /servers/:name`: the whole configuration. `null` keeps a stored value that the views do not show; an
 * absent member removes it. If the origin of `url`, `command` or the kind of transport changes, nothing can be kept:
 * the response is a 400 with `code: "secrets_not_kept"` that lists the values to enter again.
 */
export const ServerUpdate = Type.Object(
  {
    transport,
    description,
    session_mode,
    url: keepable(Text(), 'null keeps the stored value, including query values'),
    bearer_token: keepable(Text({ maxLength: 16_384 }), 'null keeps the stored value'),
    headers: keepableMap('A null value keeps the stored one'),
    command: Type.Optional(Text()),
    args: keepable(
      TextList({ maxLength: 131_072 }),
      'null keeps the stored values; `***`, as in the views, keeps the stored secret of an argument'
    ),
    env: keepableMap('A null value keeps the stored one'),
    oauth_redirect_uri,
    oauth_client_id: keepable(Text(), 'null keeps the stored value'),
    oauth_client_secret: keepable(Text(), 'null keeps the stored value'),
    oauth_scopes: Type.Optional(TextList({ maxItems: 100 })),
    oauth_issuer,
    oauth_assume_pkce,
    apps,
    trusted_annotations,
    definitions
  },
  { additionalProperties: false }
)
export type ServerUpdate = Static<typeof ServerUpdate>

const TrialTool = Type.Object({ name: Type.String(), description: Type.Optional(Type.String()) })

/**
 * Response of `POST /servers/:name/test` and of `POST /servers?dry_run=true`: 200 if the input is valid, even if the
 * connection failed. Nothing is stored.
 */
export const ServerTrial = Type.Object({
  name: Type.String(),
  status: StringEnum(['connected', 'sign_in_needed', 'failing']),
  ms: Type.Integer({ description: 'Time until the last list was read or the contact failed' }),
  error: Type.Optional(Type.String()),
  ...explanationMembers,
  stderr: Type.Array(Type.String(), { description: 'Last lines on stderr if the contact failed' }),
  tool_count: Type.Integer(),
  prompt_count: Type.Integer(),
  resource_count: Type.Integer(),
  skill_count: Type.Integer(),
  tools: Type.Array(TrialTool, { description: 'The first 100' })
})
export type ServerTrial = Static<typeof ServerTrial>
