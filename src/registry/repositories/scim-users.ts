import { randomUUID } from 'node:crypto'
import { sql, type Expression, type SqlBool } from 'kysely'
import type { Role } from '../../domain/access/access.ts'
import { AppError, notFound } from '../../lib/errors.ts'
import type { Db } from '../model/tables.ts'
import { isUniqueViolation, withErrorTranslation } from '../store/failures.ts'
import { requireAdministrator } from './access-tokens.ts'
import type { WriteContext } from './context.ts'
import { freeUserName } from './new-users.ts'
import { setUserActive } from './principals.ts'

/** User as a SCIM client writes it */
export interface ScimUserConfig {
  readonly userName: string
  readonly externalId: string | null
  readonly displayName: string | null
  /** The primary address, or the first */
  readonly email: string | null
  readonly active: boolean
  /** JSON of all attributes that the client wrote */
  readonly resource: string
}

export interface StoredScimUser {
  readonly id: string
  /** Name of the user at the gateway */
  readonly name: string
  readonly active: boolean
  readonly resource: string
}

export interface ScimUserRow extends StoredScimUser {
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Conditions that the database decides; all must hold. */
export interface ScimUserQuery {
  readonly id?: string
  /** Whatever the letter case */
  readonly userName?: string
  readonly externalId?: string
  readonly email?: string
  readonly offset: number
  readonly limit: number
}

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
/** Tests if a text may be an id; the database refuses others. */
export const isScimId = (id: string): boolean => uuid.test(id)

const noUser = (id: string) => notFound('user', id)
const taken = (userName: string) =>
  new AppError(409, `the userName "${userName}" belongs to another user`, { code: 'uniqueness' })

/** Creates the repository of users of a SCIM client, for a write. Other users cannot be reached through it. */
export function createScimUserRepository({ db, version, recordEffect }: WriteContext) {
  const find = async (id: string) => {
    const found = isScimId(id)
      ? await db
          .selectFrom('scim_users')
          .innerJoin('users', 'users.id', 'user_id')
          .select(['users.id', 'users.name', 'role', 'active', 'resource'])
          .where('user_id', '=', id)
          .executeTakeFirst()
      : undefined
    if (!found) throw noUser(id)
    return found
  }
  /** Returns the user who has signed in under the external id and whom no SCIM client manages yet. */
  const findSignedIn = async (issuer: string, externalId: string | null) =>
    externalId === null
      ? undefined
      : db
          .selectFrom('identities')
          .innerJoin('users', 'users.id', 'identities.user_id')
          .leftJoin('scim_users', 'scim_users.user_id', 'users.id')
          .select(['users.id', 'users.name', 'role', 'active'])
          .where('issuer', '=', issuer)
          .where('subject', '=', externalId)
          .where('scim_users.user_id', 'is', null)
          .executeTakeFirst()
  const addUser = async (userName: string) => {
    const [id, name] = [randomUUID(), await freeUserName(db, userName)]
    const row = { id, name, role: 'user' as Role, source: 'scim', role_source: 'mapped', revision: version } as const
    await db.insertInto('users').values(row).execute()
    return { id, name, role: row.role, active: true }
  }
  const setColumns = (id: string, { externalId, displayName, email }: ScimUserConfig) =>
    db
      .updateTable('users')
      .set({ external_id: externalId, display_name: displayName, email, source: 'scim', revision: version })
      .where('id', '=', id)
      .execute()
  const audited = ({ userName, active }: ScimUserConfig) => ({ user_name: userName, active })
  return {
    /**
     * Creates a user and returns the id. A user who has signed in at the issuer under the external id is taken over.
     * Throws a 409 AppError if the userName is taken.
     */
    async create(config: ScimUserConfig, issuer: string): Promise<string> {
      const { userName, resource, externalId } = config
      const user = (await findSignedIn(issuer, externalId)) ?? (await addUser(userName))
      try {
        await db.insertInto('scim_users').values({ user_id: user.id, user_name: userName, resource }).execute()
      } catch (error) {
        throw isUniqueViolation(error, 'scim_users_user_name') ? taken(userName) : error
      }
      await setColumns(user.id, config)
      if (user.active !== config.active) await setUserActive({ db, version }, user, config.active)
      recordEffect({ after: { name: user.name, ...audited(config) } })
      return user.id
    },

    /**
     * Replaces the attributes of a user by those that `change` makes of the stored ones. Throws a 404, or a 409 if the
     * userName is taken or for the last administrator.
     */
    async replace(id: string, change: (stored: StoredScimUser) => Promise<ScimUserConfig>): Promise<void> {
      const user = await find(id)
      const config = await change(user)
      try {
        await db
          .updateTable('scim_users')
          .set({ user_name: config.userName, resource: config.resource, updated_at: sql<Date>`now()` })
          .where('user_id', '=', id)
          .execute()
      } catch (error) {
        throw isUniqueViolation(error, 'scim_users_user_name') ? taken(config.userName) : error
      }
      await setColumns(id, config)
      if (user.active !== config.active) await setUserActive({ db, version }, user, config.active)
      recordEffect({
        before: { name: user.name, active: user.active },
        after: { name: user.name, ...audited(config) }
      })
    },

    /** Removes a user with everything that belongs to it. Throws a 404, or a 409 for the last administrator. */
    async remove(id: string): Promise<void> {
      const { role, name } = await find(id)
      await db.deleteFrom('users').where('id', '=', id).execute()
      if (role === 'admin') await requireAdministrator(db, 'the last administrator cannot be removed')
      recordEffect({ before: { name, role } })
    }
  }
}

/** Returns users in order of creation, and the number of all that match. */
export const readScimUsers = (
  db: Db,
  { id, userName, externalId, email, offset, limit }: ScimUserQuery
): Promise<{ readonly total: number; readonly users: readonly ScimUserRow[] }> =>
  withErrorTranslation(async () => {
    const conditions: Expression<SqlBool>[] = [sql<SqlBool>`true`]
    if (id !== undefined) conditions.push(isScimId(id) ? sql<SqlBool>`users.id = ${id}` : sql<SqlBool>`false`)
    if (userName !== undefined) conditions.push(sql<SqlBool>`lower(user_name) = lower(${userName})`)
    if (externalId !== undefined) conditions.push(sql<SqlBool>`external_id = ${externalId}`)
    if (email !== undefined) conditions.push(sql<SqlBool>`lower(email) = lower(${email})`)
    const all = db
      .selectFrom('scim_users')
      .innerJoin('users', 'users.id', 'user_id')
      .where((where) => where.and(conditions))
    const { count } = await all.select((each) => each.fn.countAll<string>().as('count')).executeTakeFirstOrThrow()
    const rows = await all
      .select(['users.id', 'users.name', 'active', 'resource', 'scim_users.created_at', 'updated_at'])
      .orderBy('scim_users.created_at')
      .orderBy('users.id')
      .offset(offset)
      .limit(limit)
      .execute()
    const users = rows.map(({ created_at, updated_at, ...row }) => ({
      ...row,
      createdAt: created_at,
      updatedAt: updated_at
    }))
    return { total: Number(count), users }
  })

/** Group of a user in a resource */
export interface ScimMembership {
  readonly id: string
  readonly name: string
}

/** Returns the groups of users, by the ids of the users. */
export const readScimMemberships = (
  db: Db,
  userIds: readonly string[]
): Promise<ReadonlyMap<string, readonly ScimMembership[]>> =>
  withErrorTranslation(async () => {
    const rows = await db
      .selectFrom('scim_group_members')
      .innerJoin('scim_groups', 'scim_groups.id', 'group_id')
      .select(['user_id', 'scim_groups.id', 'name'])
      .where(sql<boolean>`user_id = any(${userIds}::uuid[])`)
      .orderBy('name')
      .execute()
    const groups = new Map<string, ScimMembership[]>(userIds.map((id) => [id, []]))
    for (const { user_id, id, name } of rows) groups.get(user_id)!.push({ id, name })
    return groups
  })
