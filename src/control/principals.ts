import { randomBytes } from 'node:crypto'
import type { ProviderConfig } from '../config/config.ts'
import type { Role } from '../domain/access/access.ts'
import { notFound } from '../lib/errors.ts'
import type { StoredUser, UserSource } from '../registry/model/model.ts'
import { FIRST_ADMIN, type UserConfig } from '../registry/repositories/principals.ts'
import type { Registry } from '../registry/registry.ts'
import type { Caller } from '../catalog/caller.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { SignedIn } from '../catalog/people.ts'
import { auditChange } from './audit-change.ts'
import { createClients, type Clients } from './clients.ts'
import { hashToken, newToken, type IssuedToken } from '../lib/tokens.ts'

/** A user in REST answers (http-contract.md#clients-and-users). */
export interface UserRecord extends UserConfig {
  /** Present if the user is suspended. */
  readonly suspended?: true
}

/** What the gateway knows about a user, for administrators and auditors. */
export interface UserDetails extends UserRecord {
  readonly source: UserSource
  readonly display_name?: string
  readonly email?: string
  /** Groups of the identity provider, as read at the last sign-in or written by a SCIM client. */
  readonly groups: readonly string[]
  readonly teams: readonly string[]
  /** Time at which the groups were read (ISO 8601). */
  readonly groups_read_at?: string
  /** Why the user has the role: an administrator gave it, groups do, or no group gives another. */
  readonly role_reason: 'manual' | 'groups' | 'default'
  /** Groups that give the role. */
  readonly role_groups?: readonly string[]
  /** Last day on which the user was seen (ISO date). */
  readonly last_seen_on?: string
}

/** Groups of the identity provider that give roles. */
export type RoleGroups = Pick<ProviderConfig, 'adminGroups' | 'auditorGroups'>

/** New invitation; the code is returned once. */
export interface IssuedInvitation extends UserConfig {
  readonly code: string
  readonly isNew: boolean
  readonly expiresAt: Date
}

/** Operations on users. A given `token` is used instead of a generated one. */
export interface Users {
  list(): UserRecord[]
  /** Like `list`, with what the gateway knows about each. */
  listDetails(): Promise<UserDetails[]>
  /** 404. */
  get(name: string): Promise<UserDetails>
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
  /**
   * Makes an invitation, with which the user sets a password once; an earlier one stops working. Creates a user who does
   * not exist. 409 for users who are suspended, have another role or sign in at an identity provider.
   */
  invite(caller: Caller, name: string, role?: Role): Promise<IssuedInvitation>
}

/**
 * Users and MCP clients (http-contract.md#clients-and-users). A token is returned once, when it is issued; only its hash
 * is stored. Methods throw or reject with AppError.
 */
export interface Principals {
  readonly users: Users
  readonly clients: Clients
  /** `Catalog.identity`: while it is the same, a token has the same caller until it expires. */
  readonly catalogIdentity: object
  /** Returns the caller with the static or personal access token that has this SHA-256 (`hashToken`). */
  callerOf(tokenHash: Buffer): Caller | undefined
  /** Returns the caller of a verified token or browser session; undefined if it has ended or the user may not sign in. */
  signedInCaller(signedIn: SignedIn): Caller | undefined
  /** Tests if the token or sign-in that the caller authenticated with is still valid, and the role the same. */
  hasValidToken(caller: Caller): boolean
  /** Returns the names of at most `limit` administrators who are not suspended. */
  activeAdministrators(limit: number): string[]
  /** Creates the first administrator, with the given token or a generated one. 409 if there is one. */
  initialize(origin: Pick<Caller, 'address' | 'requestId'>, token?: string): Promise<IssuedToken>
}

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

/** Returns why the user has the role, and the groups that give it. */
function roleReasonOf(
  { kind, roleSource, groups }: StoredUser,
  { adminGroups, auditorGroups }: RoleGroups
): Pick<UserDetails, 'role_reason' | 'role_groups'> {
  if (roleSource === 'manual') return { role_reason: 'manual' }
  const giving: readonly string[] = { admin: adminGroups, auditor: auditorGroups, user: [] }[kind]
  const own = groups.filter((group) => giving.includes(group))
  return own.length > 0 ? { role_reason: 'groups', role_groups: own } : { role_reason: 'default' }
}

function detailsOf(
  user: StoredUser,
  teams: readonly string[],
  roleGroups: RoleGroups,
  lastDay: string | undefined
): UserDetails {
  const { name, kind, active, source, displayName, email, groups, claimsAt } = user
  return {
    ...userRecord(name, kind, active),
    source,
    ...(displayName === null ? {} : { display_name: displayName }),
    ...(email === null ? {} : { email }),
    groups,
    teams,
    ...roleReasonOf(user, roleGroups),
    ...(lastDay === undefined ? {} : { last_seen_on: lastDay }),
    ...(claimsAt === null ? {} : { groups_read_at: new Date(claimsAt).toISOString() })
  }
}

function createUsers(registry: Storage, catalog: () => Catalog, roleGroups: RoleGroups): Users {
  const stored = () =>
    catalog()
      .principals.map((principal) => principal.stored)
      .filter((each): each is StoredUser => each.kind !== 'client')
  const detailed = (user: StoredUser, lastDays: ReadonlyMap<string, string>) =>
    detailsOf(user, catalog().people.membershipsOf(user.id).teams, roleGroups, lastDays.get(user.id))
  return {
    list: () => stored().map(({ name, kind, active }) => userRecord(name, kind, active)),

    async listDetails() {
      const lastDays = await registry.accessTokens.lastDays()
      return stored().map((user) => detailed(user, lastDays))
    },

    async get(name) {
      const found = stored().find((each) => each.name === name)
      if (!found) throw notFound('user', name)
      return detailed(found, await registry.accessTokens.lastDays())
    },

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
    },

    async invite(caller, name, role) {
      const code = randomBytes(32).toString('base64url')
      const invitation = await registry.write(auditChange(caller, 'user.invite', name), (tx) =>
        tx.localAccounts.invite(name, role, code)
      )
      return { name, code, ...invitation }
    }
  }
}

export const createPrincipals = (
  registry: Storage,
  catalog: () => Catalog,
  onSignedIn: (caller: Caller) => void,
  roleGroups: RoleGroups
): Principals => ({
  users: createUsers(registry, catalog, roleGroups),
  clients: createClients(registry, catalog),

  get catalogIdentity() {
    return catalog().identity
  },
  callerOf(tokenHash) {
    const caller = catalog().caller(tokenHash)
    if (caller && caller.kind !== 'client') registry.accessTokens.recordUse(caller.tokenId!)
    return caller
  },
  signedInCaller(signedIn) {
    const caller = catalog().signedInCaller(signedIn)
    if (caller) onSignedIn(caller)
    return caller
  },
  hasValidToken: (caller) => catalog().currentCaller(caller) !== undefined,
  activeAdministrators: (limit) =>
    catalog()
      .principals.flatMap(({ stored }) => (stored.kind === 'admin' && stored.active ? [stored.name] : []))
      .slice(0, limit),

  async initialize(origin, token = newToken()) {
    const by = auditChange({ ...origin, kind: 'admin', name: FIRST_ADMIN }, 'gateway.initialize', FIRST_ADMIN)
    await registry.write(by, (tx) => tx.principals.initialize(hashToken(token)))
    return { access_token: token }
  }
})
