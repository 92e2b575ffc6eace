import type { ClientConfig, GroupConfig, ItemKind, ServerConfig } from '../registry/model/model.ts'
import type { LeftOutItem } from '../schemas/left-out.ts'
import type { ClientUpdate, UserConfig } from '../registry/repositories/principals.ts'
import type { Caller, DisconnectSignal } from '../catalog/caller.ts'

/** Items of a server's lists that are not served; both members are absent if there are none. */
export interface LeftOutRecord {
  readonly left_out_count?: number
  /** The first such items, limited in number and bytes. */
  readonly left_out?: readonly LeftOutItem[]
}

/**
 * A server in REST answers: http-contract.md#server-object plus `enabled` and `notes`. Lists omit `left_out`.
 */
export interface ServerRecord extends LeftOutRecord {
  readonly name: string
  readonly transport: string
  readonly description?: string
  readonly url?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly session_mode: string
  readonly notes?: readonly string[]
  readonly enabled: boolean
}

/**
 * Answer to a registration that needs an OAuth sign-in: a person signs in at the URL, and the callback completes the
 * registration (http-contract.md#dashboard-routes).
 */
export interface AuthorizationRequired {
  readonly authorization_required: {
    readonly session_id: string
    readonly authorization_url: string
    readonly expires_at: string
  }
}

/** Authorization response at the redirect URI. Without `id`, the session is found by `state`. */
export interface AuthorizationAnswer {
  readonly id?: string
  readonly code: string
  readonly state: string
  readonly iss?: string
}

/** Authorization error response at the redirect URI. */
export interface AuthorizationRefusal {
  readonly state: string
  readonly iss?: string
  /** Error code of RFC 6749 4.1.2.1. This and `description` are untrusted texts. */
  readonly error: string
  readonly description?: string
}

export interface AuthorizationSession {
  readonly session_id: string
  readonly status: 'pending' | 'completed' | 'failed' | 'expired'
  readonly server_name: string
  readonly expires_at: string
  readonly error?: string
}

/** Changes found by a refresh of a server's lists: qualified names, or URIs of resources and templates. */
export interface RefreshResult extends LeftOutRecord {
  readonly name: string
  readonly added: string[]
  readonly removed: string[]
  readonly changed: string[]
}

/** Contract 2.6. */
export interface ServerStateResult {
  readonly name: string
  readonly tools_affected: string[]
  readonly prompts_affected: string[]
}

/** Enabled flags of a server and of its items, by names and URIs at the server. */
export interface SwitchesPatch {
  readonly enabled?: boolean
  readonly tools?: Readonly<Record<string, boolean>>
  readonly prompts?: Readonly<Record<string, boolean>>
  readonly resources?: Readonly<Record<string, boolean>>
  readonly templates?: Readonly<Record<string, boolean>>
}
export type SwitchesRecord = Required<SwitchesPatch> & { readonly name: string }

/** A tool group in REST answers (http-contract.md#tool-groups). */
export interface GroupRecord {
  readonly name: string
  readonly description?: string
  readonly included_tools: readonly string[]
  readonly included_servers: readonly string[]
  readonly excluded_tools: readonly string[]
  readonly tool_names?: 'bare'
  /** Names in the lists that do not exist now. */
  readonly missing: readonly string[]
}

/** A user in REST answers (http-contract.md#clients-and-users). */
export type UserRecord = UserConfig

/** An MCP client in REST answers. */
export interface ClientRecord {
  readonly name: string
  readonly description?: string
  readonly allowed_servers: readonly string[]
}

/** New access token, returned once. */
export interface IssuedToken {
  readonly access_token: string
}

/** Changes to a client; absent members stay as they are. */
export type ClientPatch = Omit<ClientUpdate, 'tokenHash'> & { readonly access_token?: string | undefined }

/** Operations of the REST routes. Methods throw or reject with AppError; JSON texts can be sent unchanged. */
export interface Gateway {
  /** True once a catalog is loaded, and while it is not too long out of date. */
  readonly ready: boolean
  /** Description of the parts of the registry that are not served, without confidential details; undefined if none. */
  readonly problem: string | undefined
  /** True once enterprise mode has its first administrator. */
  readonly initialized: boolean
  /** Returns the caller with this access token. */
  callerOf(token: string): Caller | undefined
  /** Tests if the token that the caller authenticated with is still valid. */
  hasValidToken(caller: Caller): boolean
  /** Creates the first administrator, with the given token or a generated one. 409 if there is one. */
  initialize(origin: Pick<Caller, 'address' | 'requestId'>, token?: string): Promise<IssuedToken>
  users(caller: Caller): UserRecord[]
  /** Creates a user, with the given token or a generated one. 409 if the name or the token is taken. */
  createUser(caller: Caller, user: UserConfig, token?: string): Promise<UserRecord & IssuedToken>
  /** Replaces a user's token; the old token stops working. 404, 409. */
  rotateUser(caller: Caller, name: string, token?: string): Promise<UserRecord & IssuedToken>
  /** Removes a user. 404, 409. */
  removeUser(caller: Caller, name: string): Promise<void>
  clients(caller: Caller): ClientRecord[]
  client(caller: Caller, name: string): ClientRecord
  createClient(caller: Caller, client: ClientConfig, token?: string): Promise<ClientRecord & IssuedToken>
  changeClient(caller: Caller, name: string, changes: ClientPatch): Promise<ClientRecord>
  /** Removes a client and ends its sessions and streams. 404. */
  removeClient(caller: Caller, name: string): Promise<void>
  servers(caller: Caller): ServerRecord[]
  server(caller: Caller, name: string): ServerRecord
  /**
   * Connects to a server, reads its lists and stores everything in one transaction
   * (http-contract.md#registration-input). `force` replaces a server of the same name. If the server requires OAuth and
   * there is a redirect URI, nothing is stored before the sign-in is completed.
   */
  register(
    caller: Caller,
    config: ServerConfig,
    options: { force: boolean }
  ): Promise<ServerRecord | AuthorizationRequired>
  /** Registers an existing server again. The server and its remaining items keep their enabled flags. 404. */
  replace(caller: Caller, name: string, config: ServerConfig): Promise<ServerRecord | AuthorizationRequired>
  /** Exchanges the code for tokens and completes the registration or sign-in. 400, 404; a failure changes nothing. */
  completeAuthorization(caller: Caller, answer: AuthorizationAnswer): Promise<ServerRecord>
  /** Ends the refused sign-in. 400, 404. */
  refuseAuthorization(caller: Caller, answer: AuthorizationRefusal): Promise<void>
  /** Returns a sign-in session; 404 also some time after its end. */
  authorizationSession(caller: Caller, id: string): Promise<AuthorizationSession>
  remove(caller: Caller, name: string): Promise<void>
  refresh(caller: Caller, name: string): Promise<RefreshResult>
  setServerEnabled(caller: Caller, name: string, enabled: boolean): Promise<ServerStateResult>
  /** Returns the enabled flags of a server and its items. 404. */
  switches(caller: Caller, name: string): SwitchesRecord
  /** Sets the given flags in one transaction. 400 names unknown items, 404. */
  setSwitches(caller: Caller, name: string, patch: SwitchesPatch): Promise<SwitchesRecord>
  groups(caller: Caller): GroupRecord[]
  group(caller: Caller, name: string): GroupRecord
  /** Tests if a group exists and, for a caller, if the group contains a server that the caller may use. */
  hasGroup(name: string, caller?: Caller): boolean
  /** Creates a group. 400 names every unknown tool and server, 409. */
  createGroup(caller: Caller, config: GroupConfig): Promise<GroupRecord>
  /** Replaces a group's configuration. Names that it already had may be missing by now. 400, 404. */
  replaceGroup(caller: Caller, config: GroupConfig): Promise<{ before: GroupRecord; after: GroupRecord }>
  /** Removes a group and ends its sessions and streams. 404. */
  removeGroup(caller: Caller, name: string): Promise<void>
  /** Returns the qualified names of the tools that the group's endpoint lists now, in list order. 404. */
  effectiveTools(caller: Caller, name: string): string[]
  /** Returns a JSON array of the items of enabled servers; 404 for an unknown `server`, `[]` for a disabled one. */
  list(caller: Caller, kind: ItemKind, server?: string): Buffer
  /** Returns one item as JSON text, disabled or not. `name`: qualified name, or URI of a resource. 404. */
  find(caller: Caller, kind: ItemKind, name: string): string
  /** Enables or disables an item, or all items of a server; resolves with their names. 404. */
  setItemsEnabled(caller: Caller, kind: ItemKind, entity: string, enabled: boolean): Promise<string[]>
  /**
   * Calls a tool (http-contract.md#tool-invocation). `args`: JSON text of the arguments object, if given.
   * Resolves with the JSON text of the result.
   */
  invoke(caller: Caller, name: string, args: string | undefined, signal: DisconnectSignal): Promise<Buffer | string>
  /** Renders a prompt (http-contract.md#prompt-record); resolves with JSON text `{description?, messages, meta?}`. */
  render(caller: Caller, name: string, args: Record<string, string>, signal: DisconnectSignal): Promise<Buffer | string>
  /** Reads a resource; resolves with JSON text `{contents: […]}`. */
  read(caller: Caller, uri: string, signal: DisconnectSignal): Promise<Buffer | string>
  /** Tests if a tool's input schema declares a property, to interpret a body with a single `arguments` member. */
  hasToolProperty(name: string, property: string): boolean
}
