import type { Role } from '../domain/access/access.ts'
import { notFound } from '../lib/errors.ts'
import type { ClientConfig, StoredClient, StoredUser } from '../registry/model/model.ts'
import { FIRST_ADMIN, type ClientUpdate, type UserConfig } from '../registry/repositories/principals.ts'
import type { Registry } from '../registry/registry.ts'
import type { Caller } from '../catalog/caller.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { auditChange } from './audit-change.ts'
import { hashToken, newToken, type IssuedToken } from './tokens.ts'

/** A user in REST answers (http-contract.md#clients-and-users). */
export interface UserRecord extends UserConfig {
  /** Present if the user is suspended. */
  readonly suspended?: true
}

/** An MCP client in REST answers. */
export interface ClientRecord {
  readonly name: string
  readonly description?: string
  readonly allowed_servers: readonly string[]
}

/** Changes to a client; absent members stay as they are. */
export type ClientPatch = Omit<ClientUpdate, 'tokenHash'> & { readonly access_token?: string | undefined }

/** Operations on users. A given `token` is used instead of a generated one. */
export interface Users {
  list(): UserRecord[]
  /** 409 if the name or the token is taken. */
  create(caller: Caller, user: UserConfig, token?: string): Promise<UserRecord & IssuedToken>
  /** Replaces a user's static token; the old token stops working, personal tokens do not. 404, 409. */
  rotateToken(caller: Caller, name: string, token?: string): Promise<UserRecord & IssuedToken>
  /** 404, 409 for the last administrator. */
  remove(caller: Caller, name: string): Promise<void>
  /** Ends everything that the user has open. 404, 409 for the last administrator. */
  changeRole(caller: Caller, name: string, role: Role): Promise<UserRecord>
  /** A suspended user's tokens are refused; everything that the user has open ends. 404, 409 for the last administrator. */
  suspend(caller: Caller, name: string): Promise<UserRecord>
  /** 404. */
  resume(caller: Caller, name: string): Promise<UserRecord>
}

/** Operations on MCP clients. A given `token` is used instead of a generated one. */
export interface Clients {
  list(): ClientRecord[]
  /** 404. */
  get(name: string): ClientRecord
  /** 409 if the name or the token is taken. */
  create(caller: Caller, client: ClientConfig, token?: string): Promise<ClientRecord & IssuedToken>
  /** 404, 409 if the token is taken. */
  change(caller: Caller, name: string, changes: ClientPatch): Promise<ClientRecord>
  /** Removes a client and ends its sessions and streams. 404. */
  remove(caller: Caller, name: string): Promise<void>
}

/**
 * Users and MCP clients (http-contract.md#clients-and-users). A token is returned once, when it is issued; only its hash
 * is stored. Methods throw or reject with AppError.
 */
export interface Principals {
  readonly users: Users
  readonly clients: Clients
  /** Returns the caller with this access token. */
  callerOf(token: string): Caller | undefined
  /** Tests if the token that the caller authenticated with is still valid, and the role the same. */
  hasValidToken(caller: Caller): boolean
  /** Creates the first administrator, with the given token or a generated one. 409 if there is one. */
  initialize(origin: Pick<Caller, 'address' | 'requestId'>, token?: string): Promise<IssuedToken>
}

const clientRecord = ({ name, description, allowed_servers }: ClientConfig): ClientRecord => ({
  name,
  ...(description === null ? {} : { description }),
  allowed_servers
})

/** Differences between the principals of two catalogs. */
export interface PrincipalChanges {
  /** Keys of the callers whose token was revoked or replaced or has expired, or whose role has changed. */
  readonly revoked: ReadonlySet<string>
  /** True if the permit of some caller may differ. */
  readonly hasNewPermits: boolean
}

/** Compares the principals of two catalogs. */
export function comparePrincipals(before: Catalog, next: Catalog): PrincipalChanges {
  const revoked = new Set<string>()
  let hasNewPermits = before.permits.contentHash !== next.permits.contentHash
  if (before.credentials === next.credentials) return { revoked, hasNewPermits }
  for (const { caller } of before.credentials.values()) {
    const current = next.currentCaller(caller)
    if (!current) revoked.add(caller.key)
    else if (current.allowed.contentHash !== caller.allowed.contentHash) hasNewPermits = true
  }
  return { revoked, hasNewPermits }
}

type Write = Pick<Registry, 'write'>
type Storage = Write & Pick<Registry, 'accessTokens'>

const userRecord = (name: string, role: Role, active: boolean): UserRecord => ({
  name,
  role,
  ...(active ? {} : { suspended: true })
})

function createUsers(registry: Write, catalog: () => Catalog): Users {
  return {
    list: () =>
      catalog()
        .principals.map(({ stored }) => stored)
        .filter((each): each is StoredUser => each.kind !== 'client')
        .map(({ name, kind, active }) => userRecord(name, kind, active)),

    async create(caller, { name, role }, token = newToken()) {
      await registry.write(auditChange(caller, 'user.create', name), (tx) =>
        tx.principals.createUser({ name, role }, hashToken(token))
      )
      return { name, role, access_token: token }
    },

    async rotateToken(caller, name, token = newToken()) {
      const role = await registry.write(auditChange(caller, 'user.rotate', name), (tx) =>
        tx.principals.replaceUserToken(name, hashToken(token))
      )
      return { name, role, access_token: token }
    },

    async remove(caller, name) {
      await registry.write(auditChange(caller, 'user.remove', name), (tx) => tx.principals.removeUser(name))
    },

    async changeRole(caller, name, role) {
      const active = await registry.write(auditChange(caller, 'user.role', name), (tx) =>
        tx.principals.changeRole(name, role)
      )
      return userRecord(name, role, active)
    },

    async suspend(caller, name) {
      const role = await registry.write(auditChange(caller, 'user.suspend', name), (tx) =>
        tx.principals.setActive(name, false)
      )
      return userRecord(name, role, false)
    },

    async resume(caller, name) {
      const role = await registry.write(auditChange(caller, 'user.resume', name), (tx) =>
        tx.principals.setActive(name, true)
      )
      return userRecord(name, role, true)
    }
  }
}

function createClients(registry: Write, catalog: () => Catalog): Clients {
  const stored = () =>
    catalog()
      .principals.map((principal) => principal.stored)
      .filter((each): each is StoredClient => each.kind === 'client')
  return {
    list: () => stored().map(clientRecord),

    get(name) {
      const found = stored().find((each) => each.name === name)
      if (!found) throw notFound('client', name)
      return clientRecord(found)
    },

    async create(caller, client, token = newToken()) {
      await registry.write(auditChange(caller, 'client.create', client.name), (tx) =>
        tx.principals.createClient(client, hashToken(token))
      )
      return { ...clientRecord(client), access_token: token }
    },

    async change(caller, name, { access_token, ...changes }) {
      const tokenHash = access_token === undefined ? undefined : hashToken(access_token)
      const changed = await registry.write(auditChange(caller, 'client.change', name), (tx) =>
        tx.principals.updateClient(name, { ...changes, tokenHash })
      )
      return clientRecord(changed)
    },

    async remove(caller, name) {
      await registry.write(auditChange(caller, 'client.remove', name), (tx) => tx.principals.removeClient(name))
    }
  }
}

export const createPrincipals = (registry: Storage, catalog: () => Catalog): Principals => ({
  users: createUsers(registry, catalog),
  clients: createClients(registry, catalog),

  callerOf(token) {
    const caller = catalog().caller(hashToken(token))
    if (caller && caller.kind !== 'client') registry.accessTokens.recordUse(caller.tokenId!)
    return caller
  },
  hasValidToken: (caller) => catalog().currentCaller(caller) !== undefined,

  async initialize(origin, token = newToken()) {
    const by = auditChange({ ...origin, kind: 'admin', name: FIRST_ADMIN }, 'gateway.initialize', FIRST_ADMIN)
    await registry.write(by, (tx) => tx.principals.initialize(hashToken(token)))
    return { access_token: token }
  }
})
