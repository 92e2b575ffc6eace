import type { DefinitionKind, DefinitionState } from '../../domain/definitions/kinds.ts'
import type { ApprovalStatus } from '../../domain/approvals.ts'
import type { Effect } from '../../domain/policy/rule.ts'
import type { Role } from '../../domain/access/access.ts'
import type { Transport } from '../../domain/transports.ts'
import type { ColumnType, Generated, Kysely, RawBuilder } from 'kysely'
import type { CallEntry } from '../../schemas/call.ts'
import type {
  Actor,
  OAuthSessionStatus,
  Outcome,
  SessionMode,
  TeamRole,
  TokenKind,
  TombstoneKind,
  UserSource
} from './model.ts'

/** bigint, read as text so that no digit is lost; pglite.ts sets a parser, pg does so by default */
type Bigint = ColumnType<string, string, string>
type Optional = ColumnType<string | null, string | null | undefined, never>
type Timestamp = ColumnType<Date, never, Date>

/** Time that the database's clock sets */
type RawTime = ColumnType<Date, RawBuilder<Date>, RawBuilder<Date>>

export interface Tables {
  gateway: {
    id: number
    mode: string
    version: ColumnType<string, string | undefined, string>
    canary: Uint8Array
    /** null: enterprise mode without an administrator; unused in development mode */
    initialized_at: ColumnType<Date | null, null | undefined, Date | RawBuilder<Date>>
  }
  servers: {
    id: string
    name: string
    transport: Transport
    description: string | null
    session_mode: SessionMode
    /** JSON of ServerSettings */
    settings: string
    sealed: Uint8Array | null
    enabled: Generated<boolean>
    revision: Bigint
    /** JSON of Negotiation */
    negotiation: string | null
    /** JSON of LeftOut */
    left_out: ColumnType<string | null, string | null | undefined, string | null>
    registered_at: Timestamp
    updated_at: ColumnType<Date, never, RawBuilder<Date>>
    /** Start of the last background refresh of the upstream's lists */
    refresh_begun_at: ColumnType<Date | null, never, Date>
    /** Number of the read that the stored lists come from (UpstreamOffer.read); null: before all others */
    list_read: ColumnType<string | null, string | null | undefined, string | null>
    /** Why the lists have not been read; null if they have */
    save_failure: ColumnType<string | null, string | null | undefined, string | null>
    /** End of the time in which contents of calls are recorded */
    recorded_until: ColumnType<Date | null, never, Date | null>
    /** JSON of DefinitionOrigin: where the server was when its definitions were accepted */
    accepted_origin: ColumnType<string | null, never, string | null>
  }
  items: {
    server_id: string
    kind: DefinitionKind
    name: string
    /** null: no longer listed by the upstream; the row keeps its settings in case the item returns */
    position: number | null
    enabled: Generated<boolean>
    definition: string
    fingerprint: string
    first_seen: Timestamp
    changed_at: Timestamp
    /** Accepted definition; null if that is the present one, or if its text is not known */
    accepted: ColumnType<string | null, never, null>
    state: DefinitionState
    /** Fingerprint of the present definition; empty for items that were only carried over from a removed server */
    canonical: string
    /** Fingerprint of the accepted definition; null if none was accepted */
    pinned: string | null
    accepted_by: string | null
    accepted_at: Date | RawBuilder<Date> | null
  }
  /** Pins of removed servers */
  retired_servers: {
    name: string
    kind: DefinitionKind
    item: string
    canonical: string
    /** JSON of DefinitionOrigin, in the row of the instructions */
    origin: string | null
    at: Timestamp
  }
  tool_groups: {
    name: string
    description: string | null
    /** JSON arrays of names */
    included_tools: string
    included_servers: string
    excluded_tools: string
    tool_names: 'qualified' | 'bare'
    /** JSON of ToolOverrides, with `***` for secrets */
    overrides: Generated<string>
    /** JSON of OverrideBindings */
    bindings: Generated<string>
    /** Secrets of locks, encrypted */
    sealed: Uint8Array | null
    instructions: string | null
    max_tokens: number | null
    tool_list: Generated<'full' | 'search'>
    /** JSON array of names */
    always_listed: Generated<string>
    search_limit: Generated<number>
    max_result_tokens: number | null
    revision: Bigint
    created_at: Timestamp
  }
  policies: {
    name: string
    position: number
    enabled: boolean
    mode: 'enforce' | 'observe'
    effect: Effect
    everyone: boolean
    /** JSON of PolicySubjects and PolicyTargets */
    subjects: string
    targets: string
    condition: string | null
    /** JSON array */
    require_scopes: string
    reason: string | null
    /** JSON of ApprovalSettings */
    approval: string
    revision: Bigint
  }
  /** Calls that an observed policy matches; rows of another rule than the current one are outdated */
  policy_counts: {
    policy: string
    rule_hash: Uint8Array
    calls: Bigint
    changed: Bigint
    since: Timestamp
    last_at: Timestamp
  }
  users: {
    id: string
    name: string
    role: Role
    role_source: ColumnType<'manual' | 'mapped', never, 'manual' | 'mapped'>
    active: Generated<boolean>
    display_name: ColumnType<string | null, string | null | undefined, string | null>
    email: ColumnType<string | null, string | null | undefined, string | null>
    source: ColumnType<UserSource, UserSource | undefined, UserSource>
    /** Id of the user at the SCIM client */
    external_id: ColumnType<string | null, string | null | undefined, string | null>
    /** Sign-ins before it have ended */
    sessions_valid_from: ColumnType<Date | null, RawBuilder<Date> | undefined, RawBuilder<Date>>
    /** Last time that the identity provider was asked for the groups */
    claims_at: ColumnType<Date | null, RawBuilder<Date> | undefined, RawBuilder<Date>>
    /** Last sign-in that was refused: personal tokens are not accepted; null while the person is admitted */
    refused_at: ColumnType<Date | null, never, RawBuilder<Date> | null>
    /** JSON array: groups of the identity provider */
    groups: Generated<string>
    revision: Bigint
    created_at: Timestamp
  }
  identities: {
    issuer: string
    subject: string
    user_id: string
    created_at: Timestamp
  }
  local_credentials: {
    user_id: string
    /** Salt and scrypt hash, with their parameters */
    hash: string
    changed_at: ColumnType<Date, never, RawBuilder<Date>>
  }
  invites: {
    /** SHA-256 of the secret in the link */
    hash: Uint8Array
    user_id: string
    expires_at: ColumnType<Date, RawBuilder<Date>, RawBuilder<Date>>
  }
  sign_in_failures: {
    /** SHA-256 of the name and the network, or of the name */
    hash: Uint8Array
    count: number
    /** End of the time in which failures are counted together */
    until: ColumnType<Date, RawBuilder<Date>, RawBuilder<Date>>
  }
  /** Users that a SCIM client manages */
  scim_users: {
    user_id: string
    user_name: string
    /** JSON of the attributes that have no column */
    resource: string
    created_at: Timestamp
    updated_at: ColumnType<Date, never, RawBuilder<Date>>
  }
  scim_groups: {
    id: string
    name: string
    external_id: string | null
    created_at: Timestamp
    updated_at: ColumnType<Date, never, RawBuilder<Date>>
  }
  scim_group_members: {
    group_id: string
    user_id: string
  }
  teams: {
    id: string
    name: string
    revision: Bigint
  }
  team_members: {
    team_id: string
    user_id: string
    role: TeamRole
  }
  team_groups: {
    team_id: string
    idp_group: string
  }
  oauth_records: {
    /** Model and SHA-256 of the record's id */
    id: string
    model: string
    /** Encrypted payload */
    sealed: Uint8Array
    grant_hash: Uint8Array | null
    uid_hash: Uint8Array | null
    user_code_hash: Uint8Array | null
    user_id: string | null
    created_at: Timestamp
    /** null: until it is deleted */
    expires_at: ColumnType<Date | null, RawBuilder<Date | null>, RawBuilder<Date | null>>
    consumed_at: ColumnType<Date | null, never, RawBuilder<Date>>
  }
  signing_keys: {
    kid: string
    /** Encrypted private key */
    sealed: Uint8Array
    /** JSON */
    public_jwk: string
    created_at: Timestamp
    signs_from: ColumnType<Date, RawBuilder<Date>, never>
    verifies_until: ColumnType<Date, RawBuilder<Date>, RawBuilder<Date>>
  }
  tombstones: {
    kind: TombstoneKind
    /** SHA-256 of the id of what has ended */
    hash: Uint8Array
    until: ColumnType<Date, Date, never>
  }
  clients: {
    id: string
    name: string
    description: string | null
    /** JSON array of names; `*` stands for every server */
    allowed_servers: string
    /** JSON of KeySet; null if there are no keys, or if they are at `jwks_uri` */
    jwks: string | null
    jwks_uri: string | null
    revision: Bigint
    created_at: Timestamp
  }
  used_assertions: {
    /** SHA-256 of purpose, issuer and id */
    hash: Uint8Array
    expires_at: ColumnType<Date, RawBuilder<Date>, RawBuilder<Date>>
  }
  results: {
    /** SHA-256 of the handle */
    hash: Uint8Array
    caller: string
    sealed: Uint8Array
    bytes: number
    created_at: Generated<Timestamp>
    expires_at: ColumnType<Date, RawBuilder<Date>, RawBuilder<Date>>
  }
  embeddings: {
    model: string
    /** SHA-256 of the text, base64url */
    fingerprint: string
    /** A signed byte per dimension; null while a replica asks for it */
    vector: Uint8Array | null
    claimed_at: ColumnType<Date, never, RawBuilder<Date>>
    used_at: ColumnType<Date, never, RawBuilder<Date>>
  }
  /** Each row belongs to one user or to one client; a client has one. */
  access_tokens: {
    id: ColumnType<string, string | undefined, never>
    /** SHA-256 of the token */
    hash: Uint8Array
    user_id: ColumnType<string | null, string | undefined, never>
    client_id: ColumnType<string | null, string | undefined, never>
    kind: ColumnType<TokenKind, TokenKind | undefined, never>
    /** Null for static tokens */
    name: ColumnType<string | null, string | undefined, never>
    /** JSON array; null: all rights of the owner */
    scopes: ColumnType<string | null, string | undefined, never>
    expires_at: ColumnType<Date | null, Date | null | undefined, never>
    /** Day of the last use, as text */
    last_used_on: ColumnType<string | null, never, RawBuilder<string>>
    created_at: Timestamp
  }
  upstream_oauth_sessions: {
    id: string
    state_hash: Uint8Array
    server_name: string
    issuer: string
    status: Generated<OAuthSessionStatus>
    error: string | null
    /** Encrypted PendingSignIn; null once the sign-in is over */
    sealed: Uint8Array | null
    created_at: Timestamp
    expires_at: ColumnType<Date, RawBuilder<Date>, never>
  }
  upstream_tokens: {
    server_id: string
    issuer: string
    /** Encrypted UpstreamTokens */
    sealed: Uint8Array
    problem: string | null
    issued_at: ColumnType<Date, RawBuilder<Date>, RawBuilder<Date>>
    /** null: not known */
    expires_at: ColumnType<Date | null, RawBuilder<Date | null>, RawBuilder<Date | null>>
    claim: string | null
    claimed_until: ColumnType<Date | null, null, RawBuilder<Date> | null>
  }
  approvals: {
    id: string
    at: RawTime
    expires_at: RawTime
    status: ApprovalStatus
    rule: string
    rule_hash: string
    caller_kind: Actor['kind']
    caller: string
    caller_key: string
    caller_credential: Uint8Array | null
    endpoint: string
    server: string
    item: string
    digest: Uint8Array
    /** Fingerprint of the tool's definition */
    definition: string
    /** Encrypted arguments */
    sealed: Uint8Array
    decided_by: string | null
    decided_at: ColumnType<Date | null, never, RawBuilder<Date>>
    reason: string | null
    uses_left: number
    /** True if the call is made for a task */
    task: Generated<boolean>
    runner: string | null
    runner_seen: ColumnType<Date | null, never, RawBuilder<Date>>
    /** Encrypted end of a task */
    task_result: Uint8Array | null
    ended_at: ColumnType<Date | null, never, RawBuilder<Date>>
  }
  /** Append-only until rows expire; no row is ever updated */
  audit_log: {
    id: ColumnType<string, never, never>
    at: ColumnType<Date, Date | undefined, never>
    actor_kind: Actor['kind']
    actor: string
    action: string
    target: string
    outcome: Outcome
    reason: Optional
    endpoint: Optional
    policy: Optional
    decision: Optional
    address: Optional
    request_id: Optional
    /** Number of events that the row stands for */
    count: Generated<number>
    /** JSON array of names */
    changed: Optional
    /** JSON objects */
    before: Optional
    after: Optional
    /** null: not a change */
    version: Optional
    /** Rows about contacting a server: the action that required it */
    purpose: Optional
    /** HMAC-SHA256 of the launch configuration, hexadecimal */
    fingerprint: Optional
    failure: Optional
    duration_ms: ColumnType<number | null, number | null | undefined, never>
    /** Id of the attempt that this row is the result of */
    attempt: Optional
  }
  session_ends: {
    mark: Uint8Array
    principal: string
    ended_at: Generated<Date>
    expires_at: Date
  }
  /** Catalogue of an MCP registry, by the URL of the registry */
  catalogue: {
    source: string
    /** Gzip of one entry per line; null until the registry was read */
    entries: Uint8Array | null
    read_at: ColumnType<Date | null, never, RawBuilder<Date>>
    /** Start of the last attempt to read the registry */
    tried_at: ColumnType<Date, RawBuilder<Date>, RawBuilder<Date>>
    /** Failure of the last attempt */
    problem: string | null
  }
  /** How much of each file of calls beside the embedded store has become rows of `calls` */
  call_files: {
    number: Bigint
    /** Bytes */
    position: Bigint
  }
  /** Rows are added, and deleted once they are too old or too many. */
  calls: {
    id: ColumnType<string, never, never>
    at: Timestamp
    kind: CallEntry['kind']
    caller_kind: CallEntry['caller_kind']
    caller: string
    endpoint: string
    via: CallEntry['via']
    server: string | null
    item: string | null
    outcome: CallEntry['outcome']
    total_ms: number
    upstream_ms: number
    request_bytes: number
    response_bytes: number
    error: string | null
    request_id: string | null
    client: string | null
    client_protocol: string | null
    server_protocol: string | null
    session_mode: NonNullable<CallEntry['session_mode']> | null
    queue_ms: number | null
    start_ms: number | null
    initialize_ms: number | null
    ended_in: NonNullable<CallEntry['ended_in']> | null
    stderr: string | null
    arguments: string | null
    result: string | null
    oauth_client: string | null
    scopes: string | null
    /** Since when the server's definition of the item was held as the call failed; null if it was not */
    held_since: Date | null
  }
}

export type Db = Kysely<Tables>
