import { Type, type Static } from '@sinclair/typebox'
import { KEEPING_MODES, type KeepingMode } from '../domain/start-cost.ts'
import { DefinitionPolicyName, Pins } from './definition.ts'
import { ServerStatus } from './server-status.ts'
import { SESSION_MODES } from '../domain/session-modes.ts'
import { TRANSPORTS } from '../domain/transports.ts'
import { LeftOutItem } from './left-out.ts'
import { ref, StringEnum, Text, TextList, TextMap } from './shared.ts'

const Transport = StringEnum(TRANSPORTS)
const SessionMode = StringEnum(SESSION_MODES, {
  description:
    'stateless: each call uses its own session; stateful: sessions are kept per caller; shared: all callers use one session'
})

/** Members that report unserved items, in servers and refresh results. */
const unservedMembers = {
  left_out_count: Type.Optional(
    Type.Integer({
      description: 'Number of items that the server lists but the gateway does not serve; absent if none'
    })
  ),
  left_out: Type.Optional(
    Type.Unsafe<readonly LeftOutItem[]>(
      Type.Array(ref(LeftOutItem), {
        description: 'The items not served, limited to the first 100 and 64 KiB; for administrators and auditors'
      })
    )
  )
}

/** Start of a process or session beside what it was for; only numbers that the gateway measured. */
export const StartCost = Type.Object(
  {
    start_ms: Type.Number({
      description: 'Median milliseconds from starting a process, or a handshake, until calls can be sent'
    }),
    call_ms: Type.Optional(
      Type.Number({
        description: 'Median milliseconds from sending a call until its result; absent in the answer of a registration'
      })
    ),
    lists_ms: Type.Optional(
      Type.Number({ description: 'Milliseconds of reading the lists, in the answer of a registration' })
    ),
    session_modes: Type.Unsafe<readonly KeepingMode[]>(
      Type.Array(StringEnum(KEEPING_MODES), {
        description: 'Modes that avoid the starts and that the gateway accepts for this server'
      })
    )
  },
  {
    $id: 'StartCost',
    description:
      'For administrators and auditors: present while each call gets a process or session of its own, starting that ' +
      'takes 10 ms or more, and the call is shorter. Measured on the last 32 starts and calls of this process of the ' +
      'gateway, from the fifth of both on. In the answer of a registration: for a process that took 100 ms or more to ' +
      'start, and longer than its lists'
  }
)

/** State of a server by its last contact, and its calls of the last day. */
export const ServerHealthRecord = Type.Object(
  {
    status: ServerStatus,
    since: Type.Optional(Type.String({ format: 'date-time', description: 'Time of the change to this status' })),
    last_error: Type.Optional(Type.String({ description: 'For administrators, while the last contact failed' })),
    tool_count: Type.Integer(),
    prompt_count: Type.Integer(),
    resource_count: Type.Integer({ description: 'Resources and resource templates' }),
    skill_count: Type.Integer(),
    calls_24h: Type.Optional(
      Type.Object(
        {
          calls: Type.Integer(),
          failed: Type.Integer(),
          p95_ms: Type.Optional(Type.Number({ description: 'Absent without completed calls' }))
        },
        { description: 'For administrators; absent while the call log cannot be read' }
      )
    )
  },
  { $id: 'ServerHealth' }
)
export type ServerHealthRecord = Static<typeof ServerHealthRecord>

export const IncludeQuery = Type.Object({
  include: Type.Optional(
    StringEnum(['health'], { description: '`health`: adds the state of the server by its last contact' })
  )
})

/** A server (http-contract.md#server-object); lists contain only `left_out_count`. */
export const Server = Type.Object(
  {
    name: Type.String(),
    transport: Type.Unsafe<string>(Transport),
    description: Type.Optional(Type.String()),
    url: Type.Optional(Type.String()),
    command: Type.Optional(Type.String()),
    args: Type.Optional(Type.Unsafe<readonly string[]>(Type.Array(Type.String()))),
    env: Type.Optional(Type.Unsafe<Readonly<Record<string, string>>>(Type.Record(Type.String(), Type.String()))),
    session_mode: Type.Unsafe<string>(SessionMode),
    apps: Type.Optional(Type.Boolean({ description: 'false: tools are served without their interfaces; else absent' })),
    trusted_annotations: Type.Optional(
      Type.Boolean({ description: 'true: `allow` policies believe the annotations of its tools; else absent' })
    ),
    definitions: Type.Optional(DefinitionPolicyName),
    enabled: Type.Boolean(),
    recorded_until: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'The arguments and results of its calls are recorded until then; absent if they are not'
      })
    ),
    notes: Type.Optional(
      Type.Unsafe<readonly string[]>(
        Type.Array(Type.String(), {
          description: 'Settings that have no effect, and why a server was saved disabled; usually absent'
        })
      )
    ),
    ...unservedMembers,
    start_cost: Type.Optional(ref(StartCost)),
    health: Type.Optional({ ...ref(ServerHealthRecord), description: 'With `include=health`' })
  },
  { $id: 'Server' }
)

/** Response of a registration. */
export const RegisteredServer = Type.Object(
  { ...Server.properties, server: { ...ref(Server), description: 'The same object, as MCPJungle returns it' } },
  { $id: 'RegisteredServer' }
)

/**
 * Input of a registration (http-contract.md#registration-input). Rules per transport are in `routes/server-config.ts`.
 */
export const ServerInput = Type.Object(
  {
    name: Type.String({
      format: 'server-name',
      description: '`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`, no `__`, no `_` at the end'
    }),
    transport: Transport,
    description: Type.Optional(Text({ maxLength: 65_536 })),
    session_mode: Type.Optional({ ...SessionMode, default: 'stateless' }),
    url: Type.Optional(Text({ description: '`http://` or `https://` URL; required for streamable_http and sse' })),
    bearer_token: Type.Optional(
      Text({ maxLength: 16_384, description: 'Sent to the server as a Bearer token; ignored for stdio' })
    ),
    headers: Type.Optional(
      TextMap({
        maxLength: 16_384,
        description: 'Sent to the server; an `Authorization` entry overrides `bearer_token`'
      })
    ),
    command: Type.Optional(Text({ description: 'Executable; required for stdio' })),
    args: Type.Optional(TextList({ maxLength: 131_072, description: 'For stdio' })),
    env: Type.Optional(TextMap({ maxLength: 131_072, description: 'For stdio' })),
    oauth_redirect_uri: Type.Optional(
      Text({ description: 'For streamable_http: redirect URI of the OAuth sign-in; https, or http on a loopback host' })
    ),
    oauth_client_id: Type.Optional(Text({ description: 'For streamable_http: id of a pre-registered OAuth client' })),
    oauth_client_secret: Type.Optional(
      Text({ description: 'For streamable_http: secret of the pre-registered OAuth client' })
    ),
    oauth_scopes: Type.Optional(
      TextList({
        maxItems: 100,
        description: 'For streamable_http: scopes to request instead of those that the upstream asks for'
      })
    ),
    oauth_issuer: Type.Optional(
      Text({
        maxLength: 2_048,
        description:
          'For streamable_http: issuer of the only authorization server allowed for sign-ins, compared as text; ' +
          'if absent, the issuer of the first sign-in'
      })
    ),
    oauth_assume_pkce: Type.Optional(
      Type.Boolean({
        description:
          'For streamable_http: use PKCE S256 although the metadata of the authorization server does not announce it. ' +
          'Safe only if the server verifies S256 nevertheless. Default: false'
      })
    ),
    apps: Type.Optional(
      Type.Boolean({
        description:
          'false: the tools of the server are served without their interfaces (MCP Apps), so that no client shows ' +
          'them. Default: true'
      })
    ),
    trusted_annotations: Type.Optional(
      Type.Boolean({
        description:
          'true: policies with the effect `allow` may go by the annotations of its tools, such as `readOnlyHint`, ' +
          'which the server writes itself and can change at any time. Default: false'
      })
    ),
    definitions: Type.Optional(DefinitionPolicyName),
    pins: Type.Optional(Pins)
  },
  { $id: 'ServerInput', additionalProperties: false }
)
export type ServerInput = Static<typeof ServerInput>

/** Response of a registration that requires a sign-in (http-contract.md#registration-input). */
export const AuthorizationRequired = Type.Object(
  {
    authorization_required: Type.Object({
      session_id: Type.String(),
      authorization_url: Type.String({ description: 'Open this URL in a browser' }),
      expires_at: Type.String({ format: 'date-time' })
    })
  },
  { $id: 'AuthorizationRequired' }
)

export const AuthorizationAnswer = Type.Object(
  {
    code: Text({ minLength: 1 }),
    state: Text({ minLength: 1 }),
    iss: Type.Optional(Text({ description: 'If the authorization server sent it' }))
  },
  {
    $id: 'AuthorizationAnswer',
    additionalProperties: false,
    description: 'Parameters that the authorization server sent to the redirect URI'
  }
)

export const UpstreamClient = Type.Object(
  {
    client_id: Type.String({ description: 'URL of the document itself' }),
    client_name: Type.String(),
    redirect_uris: Type.Array(Type.String()),
    grant_types: Type.Array(Type.String()),
    response_types: Type.Array(Type.String()),
    token_endpoint_auth_method: Type.String(),
    application_type: Type.String()
  },
  { $id: 'UpstreamClient', description: 'Client metadata document of the gateway' }
)

export const AuthorizationSession = Type.Object(
  {
    session_id: Type.String(),
    status: StringEnum(['pending', 'completed', 'failed', 'expired']),
    server_name: Type.String(),
    expires_at: Type.String({ format: 'date-time' }),
    error: Type.Optional(Type.String())
  },
  { $id: 'AuthorizationSession' }
)

export const ForceQuery = Type.Object({
  force: Type.Optional(
    Type.Boolean({ default: false, description: 'Replace a server of the same name after the new one has connected' })
  )
})

/** Query of a registration. */
export const RegistrationQuery = Type.Object({
  ...ForceQuery.properties,
  save: Type.Optional(
    StringEnum(['disabled'], {
      description:
        'Store a server that does not answer disabled and without lists, with the reason in `notes`; enabling it reads its lists'
    })
  )
})

/** Body of the route that records the contents of a server's calls. */
export const RecordingInput = Type.Object(
  { minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_440, default: 60, description: 'Ends by itself' })) },
  { $id: 'RecordingInput', additionalProperties: false }
)

/** Result of enabling or disabling a server (http-contract.md#enabled-state). */
export const ServerState = Type.Object(
  {
    name: Type.String(),
    tools_affected: Type.Array(Type.String()),
    prompts_affected: Type.Array(Type.String())
  },
  { $id: 'ServerState' }
)

const switchMap = (description: string) =>
  Type.Optional(
    Type.Unsafe<Readonly<Record<string, boolean>>>({
      type: 'object',
      propertyNames: { type: 'string', format: 'text', maxLength: 4_096 },
      additionalProperties: { type: 'boolean' },
      maxProperties: 10_000,
      description
    })
  )

const itemSwitches = {
  tools: switchMap("Enabled state by the server's own tool names"),
  prompts: switchMap("Enabled state by the server's own prompt names"),
  resources: switchMap("Enabled state by the server's own resource URIs"),
  templates: switchMap("Enabled state by the server's own URI templates"),
  skills: switchMap("Enabled state by the server's own URIs of skills")
}

/** Switches of a server and its items, independent of each other (http-contract.md#enabled-state). */
export const ServerSwitches = Type.Object(
  { name: Type.String(), enabled: Type.Boolean(), ...itemSwitches },
  { $id: 'ServerSwitches' }
)
export type ServerSwitches = Static<typeof ServerSwitches>

export const ServerSwitchesPatch = Type.Object(
  { enabled: Type.Optional(Type.Boolean()), ...itemSwitches },
  { $id: 'ServerSwitchesPatch', additionalProperties: false, description: 'Absent members are unchanged.' }
)
export type ServerSwitchesPatch = Static<typeof ServerSwitchesPatch>

export const Refresh = Type.Object(
  {
    name: Type.String(),
    added: Type.Array(Type.String()),
    removed: Type.Array(Type.String()),
    changed: Type.Array(Type.String()),
    ...unservedMembers
  },
  { $id: 'Refresh', description: 'Changes found by reading the lists again: qualified names, URIs for resources' }
)
