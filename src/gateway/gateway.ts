import type { ClientConfig, GroupConfig, ItemKind, ServerConfig } from '../registry/model.ts'
import type { LeftOutItem } from '../schemas/left-out.ts'
import type { ClientChange, UserConfig } from '../registry/principals.ts'
import type { Caller, DisconnectSignal } from './caller.ts'

/** What of a server's lists is not served; members are absent where that is nothing. */
export interface LeftOutRecord {
  readonly left_out_count?: number
  /** The first of them, within bounds. */
  readonly left_out?: readonly LeftOutItem[]
}

/**
 * A server as REST shows it (http-contract.md#server-object plus `enabled` and `notes`); in lists without `left_out`.
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
 * Somebody has to sign in at that URL before the server is stored; the answer completes the session
 * (http-contract.md#dashboard-routes).
 */
export interface AuthorizationRequired {
  readonly authorization_required: {
    readonly session_id: string
    readonly authorization_url: string
    readonly expires_at: string
  }
}

/** What an authorization server sent to the redirect URI. Without `id` the session is found by its state. */
export interface AuthorizationAnswer {
  readonly id?: string
  readonly code: string
  readonly state: string
  readonly iss?: string
}

/** That an authorization server said no. */
export interface AuthorizationRefusal {
  readonly state: string
  readonly iss?: string
  /** Code of RFC 6749 4.1.2.1, and its words: texts from outside. */
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

/** What a re-read of an upstream's lists changed: qualified names, URIs for resources and templates. */
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

/** The own switches of a server and of what it offers, by own names and URIs. */
export interface SwitchesPatch {
  readonly enabled?: boolean
  readonly tools?: Readonly<Record<string, boolean>>
  readonly prompts?: Readonly<Record<string, boolean>>
  readonly resources?: Readonly<Record<string, boolean>>
  readonly templates?: Readonly<Record<string, boolean>>
}
export type SwitchesRecord = Required<SwitchesPatch> & { readonly name: string }

/** A tool group as REST shows it (http-contract.md#tool-groups). */
export interface GroupRecord {
  readonly name: string
  readonly description?: string
  readonly included_tools: readonly string[]
  readonly included_servers: readonly string[]
  readonly excluded_tools: readonly string[]
  readonly tool_names?: 'bare'
  /** Names in the lists that do not exist at present. */
  readonly missing: readonly string[]
}

/** A user as REST shows it (http-contract.md#clients-and-users). */
export type UserRecord = UserConfig

/** An MCP client as REST shows it. */
export interface ClientRecord {
  readonly name: string
  readonly description?: string
  readonly allowed_servers: readonly string[]
}

/** Shown once, to whoever made it. */
export interface IssuedToken {
  readonly access_token: string
}

/** What of a client is to differ; absent members stay. */
export type ClientPatch = Omit<ClientChange, 'tokenHash'> & { readonly access_token?: string | undefined }

/** The data plane: what routes ask for. JSON texts are ready to be sent as they are. Throws AppError. */
export interface Gateway {
  /** True once a catalog is served, and while it may be trusted to be the database's. */
  readonly ready: boolean
  /** What of the registry is not in force, in words for anybody; undefined where all is. */
  readonly problem: string | undefined
  /** Whether enterprise mode has its first administrator. */
  readonly initialized: boolean
  /** Whose access token this is. */
  callerOf(token: string): Caller | undefined
  /** Whether the token that such a caller showed is still good. */
  hasValidToken(caller: Caller): boolean
  /** Makes the first administrator with this token, or a generated one; 409. Before it there is no caller. */
  initialize(origin: Pick<Caller, 'address' | 'requestId'>, token?: string): Promise<IssuedToken>
  users(caller: Caller): UserRecord[]
  /** 409 where the name or the token is taken. A token is generated where none is given. */
  createUser(caller: Caller, user: UserConfig, token?: string): Promise<UserRecord & IssuedToken>
  /** The token before is good for nothing any more. 404, 409. */
  rotateUser(caller: Caller, name: string, token?: string): Promise<UserRecord & IssuedToken>
  /** 404, 409. */
  removeUser(caller: Caller, name: string): Promise<void>
  clients(caller: Caller): ClientRecord[]
  client(caller: Caller, name: string): ClientRecord
  createClient(caller: Caller, client: ClientConfig, token?: string): Promise<ClientRecord & IssuedToken>
  changeClient(caller: Caller, name: string, changes: ClientPatch): Promise<ClientRecord>
  /** Its sessions and streams end. 404. */
  removeClient(caller: Caller, name: string): Promise<void>
  servers(caller: Caller): ServerRecord[]
  server(caller: Caller, name: string): ServerRecord
  /**
   * Connects, reads the lists, then stores all or nothing. `force` replaces a server of that name
   * (http-contract.md#registration-input).
   * Where the upstream asks for OAuth and there is a redirect URI, nothing is stored before the sign-in is completed.
   */
  register(
    caller: Caller,
    config: ServerConfig,
    options: { force: boolean }
  ): Promise<ServerRecord | AuthorizationRequired>
  /** As `register` with force for a server that exists; items that stay keep their enabled flags, as does the server. */
  replace(caller: Caller, name: string, config: ServerConfig): Promise<ServerRecord | AuthorizationRequired>
  /** Gives the code for tokens and goes on with what asked for the sign-in. 400, 404; nothing changes where it fails. */
  completeAuthorization(caller: Caller, answer: AuthorizationAnswer): Promise<ServerRecord>
  /** Ends the sign-in that the refusal is for; 400, 404. */
  refuseAuthorization(caller: Caller, answer: AuthorizationRefusal): Promise<void>
  /** 404 also some time after it is over. */
  authorizationSession(caller: Caller, id: string): Promise<AuthorizationSession>
  remove(caller: Caller, name: string): Promise<void>
  refresh(caller: Caller, name: string): Promise<RefreshResult>
  setServerEnabled(caller: Caller, name: string, enabled: boolean): Promise<ServerStateResult>
  /** 404. */
  switches(caller: Caller, name: string): SwitchesRecord
  /** Sets those that are given, all or none; 400 names what the server does not offer, 404. */
  setSwitches(caller: Caller, name: string, patch: SwitchesPatch): Promise<SwitchesRecord>
  groups(caller: Caller): GroupRecord[]
  group(caller: Caller, name: string): GroupRecord
  /** With a caller: false too where the group holds nothing of a server that the caller may use. */
  hasGroup(name: string, caller?: Caller): boolean
  /** 400 names every tool and server that does not exist; 409. */
  createGroup(caller: Caller, config: GroupConfig): Promise<GroupRecord>
  /** The whole configuration of the group of that name; what it named before may be missing. 400, 404. */
  replaceGroup(caller: Caller, config: GroupConfig): Promise<{ before: GroupRecord; after: GroupRecord }>
  /** Its open sessions and streams end. 404. */
  removeGroup(caller: Caller, name: string): Promise<void>
  /** Qualified names of the tools that the group's endpoint lists now, in its order; 404. */
  effectiveTools(caller: Caller, name: string): string[]
  /** JSON text: array of records of the enabled servers' items; 404 for an unknown `server`, `[]` for a disabled one. */
  list(caller: Caller, kind: ItemKind, server?: string): Buffer
  /** JSON text of one record, also of a disabled server's item; 404. `name`: qualified name, or URI of a resource. */
  find(caller: Caller, kind: ItemKind, name: string): string
  /** All names that the entity (item or server) stands for; 404. */
  setItemsEnabled(caller: Caller, kind: ItemKind, entity: string, enabled: boolean): Promise<string[]>
  /**
   * Contract 2.4. `args` is the JSON text of the arguments object, or undefined where the caller gave none.
   * Resolves with the JSON text of the result.
   */
  invoke(caller: Caller, name: string, args: string | undefined, signal: DisconnectSignal): Promise<Buffer | string>
  /** Contract 2.5: `{description?, messages, meta?}`. */
  render(caller: Caller, name: string, args: Record<string, string>, signal: DisconnectSignal): Promise<Buffer | string>
  /** `{contents: […]}`. */
  read(caller: Caller, uri: string, signal: DisconnectSignal): Promise<Buffer | string>
  /** Whether the tool's own schema declares a property of that name (decisions: a lone `arguments` member). */
  hasToolProperty(name: string, property: string): boolean
}
