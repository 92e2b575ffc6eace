/** Types of stored records and of the registry state that the gateway serves from. */

import type { OverrideBindings, ToolOverrides } from '../../domain/overrides/tool-overrides.ts'
import type { DefinitionKind, DefinitionPolicy, DefinitionState } from '../../domain/definitions/kinds.ts'
import type { Role, TokenScope } from '../../domain/access/access.ts'
import type { KeySet } from '../../domain/access/client-keys.ts'
import type { PolicyRule } from '../../domain/policy/rule.ts'
import type { SessionMode } from '../../domain/session-modes.ts'
import type { Transport } from '../../domain/transports.ts'
import type { LeftOutItem } from '../../schemas/left-out.ts'

export type { SessionMode } from '../../domain/session-modes.ts'
export type ItemKind = Exclude<DefinitionKind, 'instructions'>

/**
 * Secrets of a server's configuration, encrypted at rest (security-model.md#secrets-at-rest) and decrypted only at the
 * point of use
 */
export interface ServerSecrets {
  readonly bearer_token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly oauth_client_secret?: string
  /** Complete URL or arguments, present if they contain a secret; `ServerSettings` then holds the masked form */
  readonly url?: string
  readonly args?: readonly string[]
}

/** Readable part of a server's configuration; secrets in `url` and `args` are masked */
export interface ServerSettings {
  readonly url?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly oauth_redirect_uri?: string
  readonly oauth_client_id?: string
  readonly oauth_scopes?: readonly string[]
  /** The only authorization server accepted for sign-in */
  readonly oauth_issuer?: string
  /** Assume that an authorization server which does not advertise PKCE supports S256 */
  readonly oauth_assume_pkce?: boolean
  /** False: its tools are served without their interfaces; absent: with them (mcp-proxy.md#apps) */
  readonly apps?: false
  /** True: `allow` policies believe the annotations of its tools (policies.md#trusted-annotations) */
  readonly trusted_annotations?: true
  /** Treatment of definitions that differ from the accepted ones; absent: as configured for the gateway */
  readonly definitions?: DefinitionPolicy
}

/** Launch configuration: the program to start, or the address to contact and the credentials to send */
export interface LaunchConfig
  extends Pick<ServerSettings, 'url' | 'command' | 'args'>, Pick<ServerSecrets, 'bearer_token' | 'headers' | 'env'> {
  readonly transport: Transport
}

/** Validated registration input with defaults applied (http-contract.md#registration-input) */
export interface ServerConfig extends ServerSettings, ServerSecrets {
  readonly name: string
  readonly transport: Transport
  readonly description?: string
  readonly session_mode: SessionMode
  /** Fingerprints by kind and name of the definitions to accept, in place of what a first read accepts; not stored */
  readonly pins?: Readonly<Record<string, string>>
}

/**
 * Protocol revisions and capabilities negotiated with an upstream (mcp-proxy.md#upstream-negotiation); stored with the
 * server
 */
export interface Negotiation {
  /** Stateless revision in use (2026-07-28), null if the upstream does not support one */
  readonly modern: string | null
  /** Revision agreed in `initialize`, null if the upstream does not support the session protocol */
  readonly legacy: string | null
  /**
   * True if the session protocol issues an `Mcp-Session-Id`; always true for stdio and SSE, where a connection is a
   * session
   */
  readonly hasSessions: boolean
  /** `capabilities` as sent by the upstream over the protocol that the lists are read with */
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly serverInfo: Readonly<Record<string, unknown>> | null
  readonly instructions: string | null
  /** ISO time of the negotiation */
  readonly checkedAt: string
  /** Lifetime of the lists in milliseconds, as stated by the upstream; absent if it stated none */
  readonly listTtlMs?: number
}

/** Tool, prompt, resource, resource template or skill as listed by an upstream */
export interface OfferedItem {
  readonly kind: ItemKind
  /**
   * Upstream's name of the tool or prompt, `uri` of the resource or of the skill's `SKILL.md`, or `uriTemplate` of the
   * template; unique per kind
   */
  readonly name: string
  /** JSON text of the definition, exactly as the upstream sent it */
  readonly definition: string
}

/** Listed items that cannot be served: the first ones, up to a limit, and the number of the rest */
export interface LeftOut {
  readonly items: readonly LeftOutItem[]
  readonly more: number
}

/** Result of contacting an upstream, stored with its server in one transaction; items are in the upstream's order */
export interface UpstreamOffer {
  readonly negotiation: Negotiation
  readonly items: readonly OfferedItem[]
  /** Absent if every listed item can be stored */
  readonly leftOut?: LeftOut | undefined
  /** Number from Registry.beginRead, higher for reads that began later; absent: the offer is stored in any case */
  readonly read?: string
  /** Durations for diagnostics, not stored; absent if not measured */
  readonly timings?: DiscoveryTimings
}

/** Durations of the steps of contacting an upstream, in milliseconds */
export interface DiscoveryTimings {
  /** Starting the process or opening the event stream; absent for transports that do neither */
  readonly start?: number
  readonly initialize: number
  readonly lists: number
}

/** What is known of an item's present and accepted definition (pinned-definitions.md) */
export interface StoredDefinition {
  /** JSON text of the present definition */
  readonly definition: string
  /** ISO time of the last change of the definition */
  readonly changedAt: string
  readonly state: DefinitionState
  /** Fingerprint of the present definition (pinned-definitions.md#what-counts) */
  readonly canonical: string
  /** Fingerprint of the accepted definition; null if none was accepted */
  readonly pinned: string | null
  /** Accepted definition; null if it equals the present one, if there is none, or if its text is not known */
  readonly accepted: string | null
}

export interface StoredItem extends OfferedItem, StoredDefinition {
  readonly enabled: boolean
  /** SHA-256 of the definition, hexadecimal */
  readonly fingerprint: string
}

/** Where a server is, as far as that tells whether its definitions come from the same program */
export interface DefinitionOrigin {
  readonly server_info_name: string | null
  readonly command: string | null
  /** Origin of the URL */
  readonly url: string | null
}

/** Recording of the contents of a server's calls for a time */
export interface Recording {
  /** ISO time of the end, by the clock of the database */
  readonly until: string
  /** The end on this replica's monotonic clock (`performance.now()`), whatever its wall clock shows */
  readonly endsAt: number
}

/** Server with all its items. Immutable: a replica keeps the same object until the revision changes. */
export interface StoredServer {
  readonly id: string
  readonly name: string
  readonly transport: Transport
  readonly description: string | null
  readonly session_mode: SessionMode
  readonly settings: ServerSettings
  /** Encrypted ServerSecrets, null if there are none */
  readonly sealed: Uint8Array | null
  readonly enabled: boolean
  /** Registry version of the last change, as text */
  readonly revision: string
  /** ISO time. */
  readonly registeredAt: string
  /** ISO time of the last change of the server or of its items */
  readonly updatedAt: string
  /** Null if the server was saved disabled and has not answered yet */
  readonly negotiation: Negotiation | null
  /** Why the server did not answer when it was saved; null once its lists have been read */
  readonly saveFailure: string | null
  /** Recording of the contents of its calls; null without one. It may have ended. */
  readonly recording: Recording | null
  /** Issuer of the stored access token, null if there is no token */
  readonly issuer: string | null
  /** Items that the last list refresh left out; absent if there were none */
  readonly leftOut?: LeftOut | undefined
  /** Items ordered by kind, then in the upstream's order; excludes items that the upstream no longer lists */
  readonly items: readonly StoredItem[]
  /** Definition of its instructions; null if its lists have not been read */
  readonly instructions: StoredDefinition | null
  /** Where it was when its definitions were accepted; null if not known */
  readonly acceptedOrigin: DefinitionOrigin | null
}

/**
 * Configuration of a tool group (http-contract.md#tool-groups); its exact names may refer to tools and servers that no
 * longer exist
 */
export interface GroupConfig {
  readonly name: string
  readonly description: string | null
  /** Tools in `<server>__<tool>` form, as in `excluded_tools` */
  readonly included_tools: readonly string[]
  readonly included_servers: readonly string[]
  readonly excluded_tools: readonly string[]
  /** `bare`: tools are served under the upstream's own names (mcp-proxy.md#bare-names) */
  readonly tool_names: 'qualified' | 'bare'
  /** Overrides by `<server>__<tool>`; of a stored group with `***` for secrets */
  readonly tools: ToolOverrides
  /** Text for the model, before the instructions of the servers */
  readonly instructions: string | null
  /** Limit of the estimated tokens of its tools */
  readonly max_tokens: number | null
  /** `search`: the endpoint lists the tools of search instead of its own (tool-groups.md#search-mode) */
  readonly tool_list: 'full' | 'search'
  /** `<server>__<tool>` of the tools that are listed all the same */
  readonly always_listed: readonly string[]
  /** Hits of a query that names no limit */
  readonly search_limit: number
  /** Estimated tokens beyond which texts of results are cut */
  readonly max_result_tokens: number | null
}

/** Immutable: a replica keeps the same object until the revision changes. */
export interface StoredGroup extends GroupConfig {
  /** Definitions that the overrides were written for */
  readonly bindings: OverrideBindings
  /** Secrets of the locks, encrypted; null if there are none */
  readonly sealed: Uint8Array | null
  /** Registry version of the last change, as text */
  readonly revision: string
  /** ISO time; distinguishes a group from an earlier one with the same name */
  readonly createdAt: string
}

/** Immutable: a replica keeps the same object until the revision changes. */
export interface StoredPolicy extends PolicyRule {
  /** `file`: it comes from the policy file of the gateway, not from the registry. */
  readonly source?: 'file'
  /** Place in lists, from 1; has no influence on decisions. */
  readonly position: number
  /** Registry version of the last change, as text */
  readonly revision: string
}

/** `static`: issued by an administrator, one for each user or client; `personal`: issued by its user */
export type TokenKind = 'static' | 'personal'

/** Access token of a user or client */
export interface StoredToken {
  /** Permanent id, never reused */
  readonly id: string
  /** SHA-256 of the token */
  readonly hash: Uint8Array
  readonly kind: TokenKind
  /** Null: all rights of the owner */
  readonly scopes: readonly TokenScope[] | null
  /** Milliseconds since 1970; null if it does not expire */
  readonly expiresAt: number | null
}

interface StoredTokenHolder {
  /** Never reused, so that nothing bound to it applies to a later principal with the same name */
  readonly id: string
  readonly name: string
  /** Expired ones included */
  readonly tokens: readonly StoredToken[]
  /** Registry version of the last change, as text */
  readonly revision: string
}

export interface StoredUser extends StoredTokenHolder {
  readonly kind: Role
  /** False: suspended; none of the user's tokens and sign-ins is accepted */
  readonly active: boolean
  readonly source: UserSource
  /** manual: an administrator gave the role; mapped: groups of the identity provider do, or nothing does */
  readonly roleSource: 'manual' | 'mapped'
  readonly displayName: string | null
  readonly email: string | null
  /** Groups of the identity provider, as read at the last sign-in */
  readonly groups: readonly string[]
  /** Milliseconds since 1970: sign-ins before it have ended; null if none was ended */
  readonly sessionsValidFrom: number | null
  /** Milliseconds since 1970 at which `groups` were read; null if never */
  readonly claimsAt: number | null
}

/** Origin of a user: created with a static token, by invitation, at the first sign-in, or by a SCIM client */
export type UserSource = 'static' | 'local' | 'jit' | 'scim'

export type TeamRole = 'member' | 'manager'

/** People who are subjects of policies together: members by hand, and those in groups of the identity provider */
export interface StoredTeam {
  readonly id: string
  readonly name: string
  readonly members: readonly { readonly userId: string; readonly role: TeamRole }[]
  readonly groups: readonly string[]
  /** Registry version of the last change, as text */
  readonly revision: string
}

/** Kind of a credential that has ended: a grant of an OAuth client, a browser session, a session of the provider */
export type TombstoneKind = 'grant' | 'session' | 'idp_sid'

/** Credential that ended before it expired */
export interface Tombstone {
  readonly kind: TombstoneKind
  /** SHA-256 of its id, hexadecimal */
  readonly hash: string
  /** Milliseconds since 1970 after which the credential would have expired */
  readonly until: number
}

/** Public key of the authorization server */
export interface SigningKey {
  readonly kid: string
  readonly publicJwk: Readonly<Record<string, string>>
  /** Milliseconds since 1970 */
  readonly signsFrom: number
  readonly verifiesUntil: number
}

/** Sign-in by which a caller was authenticated */
export interface SignIn {
  /** `client`: of an MCP client itself, without a person */
  readonly kind: 'grant' | 'session' | 'client'
  /** Id of the user, or of the MCP client */
  readonly principalId: string
  /** SHA-256 of the id of the grant or session; of an MCP client the digest of its credentials */
  readonly credential: Uint8Array
  /** SHA-256 of the session at the identity provider; absent if the sign-in does not end with it */
  readonly providerSession?: Uint8Array | undefined
  /** SHA-256 of the static token with which the session began, and with which it ends */
  readonly staticToken?: Uint8Array | undefined
  /**
   * It ends when the sign-ins of the user are ended later than this. For sign-ins here, the `sessionsValidFrom` with which
   * it began, so that clocks are never compared; for tokens of a provider the time of issue
   */
  readonly validFrom: number
  /** Milliseconds since 1970 at which the token or session expires */
  readonly expiresAt: number
}

/** Configuration of an MCP client */
export interface ClientConfig {
  readonly name: string
  readonly description: string | null
  /**
   * Names of allowed servers, which may no longer exist; `*` allows every server (http-contract.md#clients-and-users)
   */
  readonly allowed_servers: readonly string[]
  /** Public keys with which the client authenticates at the authorization server; null: it does with its token */
  readonly jwks: KeySet | null
  /** Address of the public keys instead */
  readonly jwks_uri: string | null
}

export interface StoredClient extends StoredTokenHolder, ClientConfig {
  readonly kind: 'client'
}

/** Principal in enterprise mode. Immutable: a replica keeps the same object until the revision changes. */
export type StoredPrincipal = StoredUser | StoredClient

/**
 * Snapshot of everything that the data plane serves from, at one registry version. Principals are users, then clients;
 * servers, groups, users and clients are each sorted by name in byte order.
 */
export interface RegistryState {
  readonly version: string
  /** True once enterprise mode has its first administrator */
  readonly initialized: boolean
  readonly servers: readonly StoredServer[]
  readonly groups: readonly StoredGroup[]
  readonly principals: readonly StoredPrincipal[]
  /** Ordered by position. */
  readonly policies: readonly StoredPolicy[]
  /** Sorted by name. */
  readonly teams: readonly StoredTeam[]
  /** Unexpired ones. */
  readonly tombstones: readonly Tombstone[]
  /** Of the authorization server, the newest first. */
  readonly signingKeys: readonly SigningKey[]
}

/**
 * Client authentication method at the token endpoint, in the terms of RFC 7591. `client_secret_basic+client_id` also
 * sends the client id in the body, which some servers require.
 */
export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_basic+client_id' | 'client_secret_post' | 'none'

export interface OAuthClient {
  readonly id: string
  readonly secret?: string
  readonly method: ClientAuthMethod
  /** Method to try once if the authorization server rejects `method` */
  readonly otherMethod?: ClientAuthMethod
}

/** Token endpoint and client of one issuer, stored together so that credentials are never sent to another endpoint */
export interface TokenSource {
  readonly issuer: string
  readonly tokenEndpoint: string
  readonly client: OAuthClient
  /** Resource indicator of the upstream (RFC 8707) */
  readonly resource: string
}

/** Token endpoint response */
export interface TokenGrant {
  readonly access: string
  readonly refresh?: string
  /** Seconds until the access token expires, null if not known */
  readonly lifetime: number | null
}

/** Token endpoint response, with the client authentication that succeeded */
export interface TokenGrantResult {
  readonly grant: TokenGrant
  readonly source: TokenSource
}

/** Tokens of a server, encrypted at rest */
export interface UpstreamTokens {
  readonly access: string
  readonly refresh?: string
  readonly source: TokenSource
}

/** Tokens as currently stored. Durations are by the database's clock, which all replicas share. */
export interface StoredTokens {
  readonly tokens: UpstreamTokens
  /** Reason why the tokens can no longer be renewed */
  readonly problem: string | null
  /** Milliseconds, null if not known */
  readonly lifetimeMs: number | null
  readonly leftMs: number | null
}

export type OAuthSessionStatus = 'pending' | 'completing' | 'completed' | 'failed'

/** Purpose of a sign-in and the data needed to complete it, encrypted at rest */
export interface PendingSignIn {
  readonly config: ServerConfig
  /** Server whose configuration is replaced; null if the sign-in creates one */
  readonly serverId: string | null
  readonly force: boolean
  readonly source: TokenSource
  readonly redirectUri: string
  readonly verifier: string
  /** True if the authorization server advertises the `iss` parameter in its responses (RFC 9207) */
  readonly namesIssuer: boolean
}

/** Public state of a sign-in */
export interface OAuthSession {
  readonly id: string
  readonly server: string
  readonly issuer: string
  readonly status: 'pending' | 'completed' | 'failed' | 'expired'
  readonly error: string | null
  /** ISO time. */
  readonly expiresAt: string
}

/** Actor of an audited action: a principal, the gateway itself (`system`), or an unknown caller */
export interface Actor {
  readonly kind: 'development' | Role | 'client' | 'system' | 'anonymous'
  readonly name: string
}

/** Audited action and its actor */
export interface AuditedAction {
  readonly actor: Actor
  /** Subject and verb, for example `server.create` */
  readonly action: string
  /** Name of the object acted on */
  readonly target: string
  /** Remote address of the request */
  readonly address?: string | undefined
  readonly requestId?: string | undefined
}

/** Audited write: its audit row is part of the same transaction */
export interface Change extends AuditedAction {
  /** SHA-256 of the access token that authorises the write, which fails if the token has been revoked */
  readonly tokenHash?: Uint8Array | undefined
  /** Sign-in that authorises the write, which fails if it has ended */
  readonly signIn?: SignIn | undefined
}

/** Rejected request. Its texts may come from outside. */
export interface Refusal extends AuditedAction {
  /** Reason as sent to the caller */
  readonly reason: string
  /** `global`, or the name of a group */
  readonly endpoint?: string | undefined
  /** Policy that refused the request */
  readonly policy?: string | undefined
  /** Id of the decision, as sent to the caller */
  readonly decision?: string | undefined
}

/** Attempt to contact a server or to start its command */
export interface ContactAttempt extends Omit<AuditedAction, 'action'> {
  /** Action that requires the contact */
  readonly purpose: string
  readonly launch: LaunchConfig
}

/** Result of an attempt */
export interface ContactResult {
  readonly outcome: Exclude<Outcome, 'begun'>
  /** Class of the failure, for example `unreachable` */
  readonly failure?: string | null
  /** Reason, without secrets */
  readonly reason?: string | null
  readonly durationMs: number
}

/** `begun` marks an attempt, whose result is in a row of its own */
export type Outcome = 'begun' | 'ok' | 'refused' | 'failed'

/** Row of the audit log as served by the REST API (security-model.md#audit) */
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
  /** Policy that refused the request */
  readonly policy?: string
  /** Id of the decision, as sent to the caller */
  readonly decision?: string
  readonly address?: string
  readonly request_id?: string
  /** Number of events that this row stands for */
  readonly count: number
  /** Names of changed members; `before` and `after` hold their values without secrets */
  readonly changed?: readonly string[]
  readonly before?: Readonly<Record<string, unknown>>
  readonly after?: Readonly<Record<string, unknown>>
  /** Registry version that the change committed */
  readonly version?: string
  /** Action that required contacting the server, in rows of attempts and their results */
  readonly purpose?: string
  /** HMAC of the complete launch configuration */
  readonly fingerprint?: string
  readonly failure?: string
  readonly duration_ms?: number
  /** Id of the attempt that this row is the result of */
  readonly attempt?: string
}

/** Filter for the audit log; texts are compared exactly, times are ISO */
export interface AuditQuery {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly outcome?: Outcome | undefined
  /** Earliest time, inclusive */
  readonly from?: string | undefined
  /** Latest time, exclusive */
  readonly to?: string | undefined
  /** Only rows older than the one with this id */
  readonly before?: string | undefined
  readonly limit: number
}
