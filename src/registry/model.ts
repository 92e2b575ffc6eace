/** The registry's shapes: what is stored, and what the gateway is handed to serve from. */

import type { LeftOutItem } from '../schemas/left-out.ts'

export type Transport = 'stdio' | 'streamable_http' | 'sse'
export type SessionMode = 'stateless' | 'stateful'
export type ItemKind = 'tool' | 'prompt' | 'resource' | 'template'

/**
 * Parts of a server's configuration that are sealed at rest (security-model.md#secrets-at-rest). Opened only where they
 * are used.
 */
export interface ServerSecrets {
  readonly bearer_token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly oauth_client_secret?: string
  /** Whole, where a part of it is secret: the settings then have it masked. */
  readonly url?: string
  readonly args?: readonly string[]
}

/** Parts of a server's configuration that are stored readable; of `url` and `args` without what is secret in them. */
export interface ServerSettings {
  readonly url?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly oauth_redirect_uri?: string
  readonly oauth_client_id?: string
  readonly oauth_scopes?: readonly string[]
  /** The only authorization server that may be signed in at. */
  readonly oauth_issuer?: string
  /** An authorization server that announces no PKCE is taken to check S256. */
  readonly oauth_assume_pkce?: boolean
}

/** What decides which program is started, or which address is contacted with what. */
export interface Launch
  extends Pick<ServerSettings, 'url' | 'command' | 'args'>, Pick<ServerSecrets, 'bearer_token' | 'headers' | 'env'> {
  readonly transport: Transport
}

/** A validated registration (http-contract.md#registration-input), defaults filled in. */
export interface ServerConfig extends ServerSettings, ServerSecrets {
  readonly name: string
  readonly transport: Transport
  readonly description?: string
  readonly session_mode: SessionMode
}

/** What an upstream was found to speak (mcp-proxy.md#upstream-negotiation); stored with the server. */
export interface Verdict {
  /** Modern revision in use (2026-07-28), null where the upstream has none. */
  readonly modern: string | null
  /** Legacy revision that `initialize` agreed on, null where the upstream has none. */
  readonly legacy: string | null
  /** Whether the legacy wire issues an `Mcp-Session-Id` (always true for stdio and SSE: a connection is a session). */
  readonly hasSessions: boolean
  /** `capabilities` of the wire that the lists are read over, as the upstream sent them. */
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly serverInfo: Readonly<Record<string, unknown>> | null
  readonly instructions: string | null
  /** ISO time of the check. */
  readonly checkedAt: string
  /** After so many milliseconds its lists are outdated, by its own words at the check; absent where it said nothing. */
  readonly listTtlMs?: number
}

/** One tool, prompt, resource or template as an upstream lists it. */
export interface OfferedItem {
  readonly kind: ItemKind
  /** Own name of the tool or prompt, `uri` of the resource, `uriTemplate` of the template; unique per kind. */
  readonly name: string
  /** JSON text of the definition exactly as the upstream sent it. */
  readonly definition: string
}

/** Listed items that are not served: the first of them, within bounds, and how many there are besides. */
export interface LeftOut {
  readonly items: readonly LeftOutItem[]
  readonly more: number
}

/** What contacting an upstream yields: stored together with its server in one transaction. Order is the upstream's. */
export interface Offer {
  readonly verdict: Verdict
  readonly items: readonly OfferedItem[]
  /** Absent where everything that is listed can be stored. */
  readonly leftOut?: LeftOut | undefined
  /** Not stored. Absent where nobody measured. */
  readonly took?: ReadingTimes
}

/** What the parts of contacting an upstream took, in milliseconds. */
export interface ReadingTimes {
  /** A process was started, or an event stream opened; absent where there is neither. */
  readonly start?: number
  readonly initialize: number
  readonly lists: number
}

export interface StoredItem extends OfferedItem {
  readonly enabled: boolean
  /** SHA-256 of the definition, hexadecimal. */
  readonly fingerprint: string
  /** ISO time of the last change of the definition. */
  readonly changedAt: string
  /** The definition that somebody has looked at, where the present one differs from it; else null. */
  readonly accepted: string | null
}

/** A server with everything it offers. Immutable: a replica reuses the same object until the revision differs. */
export interface StoredServer {
  readonly id: string
  readonly name: string
  readonly transport: Transport
  readonly description: string | null
  readonly session_mode: SessionMode
  readonly settings: ServerSettings
  /** Sealed ServerSecrets, null where there are none. */
  readonly sealed: Uint8Array | null
  readonly enabled: boolean
  /** Registry version of the last change, as text. */
  readonly revision: string
  /** ISO time. */
  readonly registeredAt: string
  /** ISO time of the last change, of what it offers too. */
  readonly updatedAt: string
  readonly verdict: Verdict | null
  /** The authorization server that its access token is from; null where it has none. */
  readonly issuer: string | null
  /** What the last reading of its lists left out; absent where that was nothing. */
  readonly leftOut?: LeftOut | undefined
  /** By kind, then in the upstream's order. Items that the upstream no longer offers are not here. */
  readonly items: readonly StoredItem[]
}

/** A tool group as it is configured (http-contract.md#tool-groups): exact names, also of what is gone by now. */
export interface GroupConfig {
  readonly name: string
  readonly description: string | null
  /** In `<server>__<tool>` form, as are the excluded ones. */
  readonly included_tools: readonly string[]
  readonly included_servers: readonly string[]
  readonly excluded_tools: readonly string[]
  /** `bare`: served under the upstream's own names (mcp-proxy.md#bare-names). */
  readonly tool_names: 'qualified' | 'bare'
}

/** Immutable: a replica reuses the same object until the revision differs. */
export interface StoredGroup extends GroupConfig {
  /** Registry version of the last change, as text. */
  readonly revision: string
  /** ISO time; tells a group from an earlier one of its name. */
  readonly createdAt: string
}

interface StoredTokenHolder {
  /** Never given again: what is bound to it is not a later principal's of the same name. */
  readonly id: string
  readonly name: string
  /** SHA-256 of the access token. */
  readonly tokenHash: Uint8Array
  /** Registry version of the last change, as text. */
  readonly revision: string
}

export interface StoredUser extends StoredTokenHolder {
  readonly kind: 'admin' | 'user'
}

/** What an administrator says of an MCP client. */
export interface ClientConfig {
  readonly name: string
  readonly description: string | null
  /** Names of servers, also of what is not there; `*` stands for every server (http-contract.md#clients-and-users). */
  readonly allowed_servers: readonly string[]
}

export interface StoredClient extends StoredTokenHolder, ClientConfig {
  readonly kind: 'client'
}

/** Whoever has an access token in enterprise mode. Immutable: the same object until the revision differs. */
export type StoredPrincipal = StoredUser | StoredClient

/**
 * Everything that the data plane serves from, at one version of the registry. Servers and groups, users, then clients,
 * each in order of name (byte order).
 */
export interface RegistryState {
  readonly version: string
  /** Whether enterprise mode has its first administrator. */
  readonly initialized: boolean
  readonly servers: readonly StoredServer[]
  readonly groups: readonly StoredGroup[]
  readonly principals: readonly StoredPrincipal[]
}

/** How we are known to an authorization server. */
/** How a client proves who it is: as RFC 7591 names it, and Basic with the id in the body, too, which some servers want. */
export type ClientMethod = 'client_secret_basic' | 'client_secret_basic+client_id' | 'client_secret_post' | 'none'

export interface OAuthClient {
  readonly id: string
  readonly secret?: string
  readonly method: ClientMethod
  /** Tried once where the authorization server does not take the first. */
  readonly otherMethod?: ClientMethod
}

/** Where tokens of one issuer are asked for, and as whom. Bound together, so that nothing is sent anywhere else. */
export interface TokenSource {
  readonly issuer: string
  readonly tokenEndpoint: string
  readonly client: OAuthClient
  /** Resource indicator of the upstream (RFC 8707). */
  readonly resource: string
}

/** What a token endpoint handed out. */
export interface Grant {
  readonly access: string
  readonly refresh?: string
  /** Seconds, null where it is not known. */
  readonly lifetime: number | null
}

/** The same, and as whom it was asked for in the way that worked. */
export interface Granted {
  readonly grant: Grant
  readonly source: TokenSource
}

/** The tokens of a server, sealed at rest. */
export interface UpstreamTokens {
  readonly access: string
  readonly refresh?: string
  readonly source: TokenSource
}

/** The tokens as they are stored now. Times are by the database's clock, which all replicas share. */
export interface StoredTokens {
  readonly tokens: UpstreamTokens
  /** Why they cannot be renewed any more. */
  readonly problem: string | null
  /** Milliseconds, null where that is not known. */
  readonly lifetimeMs: number | null
  readonly leftMs: number | null
}

export type OAuthSessionStatus = 'pending' | 'completing' | 'completed' | 'failed'

/** What a sign-in is for, and what completing it needs. Sealed at rest. */
export interface PendingSignIn {
  readonly config: ServerConfig
  /** The server whose configuration is replaced; null: a new one is created. */
  readonly serverId: string | null
  readonly force: boolean
  readonly source: TokenSource
  readonly redirectUri: string
  readonly verifier: string
  /** Whether the authorization server says that it names itself in each response (RFC 9207). */
  readonly namesIssuer: boolean
}

/** A sign-in as it stands. */
export interface OAuthSession {
  readonly id: string
  readonly server: string
  readonly issuer: string
  readonly status: 'pending' | 'completed' | 'failed' | 'expired'
  readonly error: string | null
  /** ISO time. */
  readonly expiresAt: string
}

/** Who acts: a principal, the gateway itself (`system`), or somebody unknown. */
export interface Actor {
  readonly kind: 'development' | 'admin' | 'user' | 'client' | 'system' | 'anonymous'
  readonly name: string
}

/** Who does what; becomes an audit row. */
export interface Act {
  readonly actor: Actor
  /** Verb with its subject, for example `server.create`. */
  readonly action: string
  /** Name of the thing that it is done to. */
  readonly target: string
  /** Where the request came from. */
  readonly address?: string | undefined
  readonly requestId?: string | undefined
}

/** What is done by a write: its audit row is part of the same transaction. */
export interface Change extends Act {
  /** SHA-256 of the access token that it is done on the word of; a write that finds it gone is refused. */
  readonly tokenHash?: Uint8Array | undefined
}

/** What somebody was refused. Texts may come from outside. */
export interface Refusal extends Act {
  /** Why, as the caller was told it. */
  readonly reason: string
  /** `global`, or the name of a group. */
  readonly endpoint?: string | undefined
}

/** A server is about to be contacted, or its command started. */
export interface Attempt extends Omit<Act, 'action'> {
  /** The action that asks for it. */
  readonly purpose: string
  readonly launch: Launch
}

/** How an attempt went. */
export interface AttemptEnd {
  readonly outcome: Exclude<Outcome, 'begun'>
  /** Class of the failure, for example `unreachable`. */
  readonly failure?: string | null
  /** Why, without secrets. */
  readonly reason?: string | null
  readonly durationMs: number
}

/** `begun`: an attempt, whose outcome has a row of its own. */
export type Outcome = 'begun' | 'ok' | 'refused' | 'failed'

/** One row of the audit log as REST shows it (security-model.md#audit). */
export interface AuditEntry {
  readonly id: string
  readonly at: string
  readonly actor_kind: Actor['kind']
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly outcome: Outcome
  readonly reason?: string
  readonly endpoint?: string
  readonly address?: string
  readonly request_id?: string
  /** Events that this row stands for. */
  readonly count: number
  /** Members that a change changed; `before` and `after` hold what of them is no secret. */
  readonly changed?: readonly string[]
  readonly before?: Readonly<Record<string, unknown>>
  readonly after?: Readonly<Record<string, unknown>>
  /** Registry version that a change made. */
  readonly version?: string
  /** Of an attempt and its outcome: the action that a server is contacted for. */
  readonly purpose?: string
  /** Keyed hash of the whole launch configuration. */
  readonly fingerprint?: string
  readonly failure?: string
  readonly duration_ms?: number
  /** Id of the attempt that this is the outcome of. */
  readonly attempt?: string
}

/** Which rows; texts are compared exactly, times are ISO. */
export interface AuditQuery {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly outcome?: Outcome | undefined
  /** First moment. */
  readonly from?: string | undefined
  /** First moment that is too late. */
  readonly to?: string | undefined
  /** Only rows older than the one with this id. */
  readonly before?: string | undefined
  readonly limit: number
}
