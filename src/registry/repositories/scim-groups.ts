import { randomUUID } from 'node:crypto'
import { sql, type Expression, type SqlBool } from 'kysely'
import { AppError, notFound } from '../../lib/errors.ts'
import type { Db } from '../model/tables.ts'
import { isUniqueViolation, withErrorTranslation } from '../store/failures.ts'
import type { WriteContext } from './context.ts'
import { applyMemberships, usersInGroups, type RoleOf } from './scim-memberships.ts'
import { isScimId } from './scim-users.ts'

const MAX_GROUPS = 10_000

/** Change to a group; absent members stay as they are */
export interface ScimGroupChange {
  readonly name?: string
  readonly externalId?: string | null
  /** Ids of users, in order: sets all members, adds or removes some */
  readonly members?: readonly {
    readonly kind: 'set' | 'add' | 'remove'
    readonly ids: readonly string[]
  }[]
}

export interface ScimGroupRow {
  readonly id: string
  readonly name: string
  readonly externalId: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly memberCount: number
}

/** Conditions that the database decides; all must hold. */
export interface ScimGroupQuery {
  readonly id?: string
  readonly name?: string
  readonly externalId?: string
  readonly offset: number
  readonly limit: number
}

/** Creates the repository of groups of a SCIM client, for a write. `roleOf`: the role that groups give. */
export function createScimGroupRepository({ db, version, recordEffect }: WriteContext) {
  const membersOf = async (id: string) => {
    const rows = await db.selectFrom('scim_group_members').select('user_id').where('group_id', '=', id).execute()
    return rows.map(({ user_id }) => user_id)
  }
  const requireUsers = async (ids: readonly string[]): Promise<void> => {
    const known = await db
      .selectFrom('scim_users')
      .select('user_id')
      .where(sql<boolean>`user_id = any(${ids.filter(isScimId)}::uuid[])`)
      .execute()
    const found = new Set(known.map(({ user_id }) => user_id))
    const unknown = ids.find((id) => !found.has(id))
    if (unknown !== undefined) {
      throw new AppError(400, `the member "${unknown}" is no user`, { code: 'invalidValue' })
    }
  }
  const changeMembers = async (id: string, { members = [] }: ScimGroupChange): Promise<void> => {
    for (const { kind, ids } of members) {
      const all = db.deleteFrom('scim_group_members').where('group_id', '=', id)
      if (kind === 'set') await all.execute()
      if (kind === 'remove') {
        await all.where(sql<boolean>`user_id = any(${ids.filter(isScimId)}::uuid[])`).execute()
        continue
      }
      await requireUsers(ids)
      await sql`
        insert into scim_group_members (group_id, user_id) select ${id}, unnest(${ids}::uuid[])
        on conflict do nothing`.execute(db)
    }
  }
  const translate = (error: unknown, name: string | undefined) =>
    isUniqueViolation(error, 'scim_groups_name')
      ? new AppError(409, `there is already a group "${name}"`, { code: 'uniqueness' })
      : error
  const find = async (id: string) => {
    const found = isScimId(id)
      ? await db.selectFrom('scim_groups').select(['id', 'name']).where('id', '=', id).executeTakeFirst()
      : undefined
    if (!found) throw notFound('group', id)
    return found
  }
  /** Applies a change of one group to its users. `names`: its old and new name if it has another one, or is new or gone. */
  const update = async (id: string, names: readonly string[], before: readonly string[], roleOf: RoleOf) => {
    const after = await membersOf(id)
    const [old, current] = [new Set(before), new Set(after)]
    const changed = [...after.filter((user) => !old.has(user)), ...before.filter((user) => !current.has(user))]
    const users =
      names.length === 0 ? changed : [...new Set([...before, ...after, ...(await usersInGroups(db, names))])]
    await applyMemberships({ db, version }, { users, names: await namesOf(id, names) }, roleOf)
    return after.length
  }
  const namesOf = async (id: string, names: readonly string[]): Promise<readonly string[]> =>
    names.length > 0 ? names : [(await find(id)).name]
  return {
    /** Creates a group and returns the id. Throws a 409 AppError if the name is taken or there are too many. */
    async create(change: ScimGroupChange & { readonly name: string }, roleOf: RoleOf): Promise<string> {
      const { count } = await db
        .selectFrom('scim_groups')
        .select((groups) => groups.fn.countAll<string>().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) >= MAX_GROUPS) throw new AppError(409, `there are already ${MAX_GROUPS} groups`)
      const id = randomUUID()
      const { name, externalId = null } = change
      try {
        await db.insertInto('scim_groups').values({ id, name, external_id: externalId }).execute()
      } catch (error) {
        throw translate(error, name)
      }
      await changeMembers(id, change)
      const members = await update(id, [name], [], roleOf)
      recordEffect({ after: { name, members } })
      return id
    },

    /** Throws a 404 AppError, a 400 for members that are no users, a 409 if the name is taken or for the last administrator. */
    async change(id: string, change: ScimGroupChange, roleOf: RoleOf): Promise<void> {
      const group = await find(id)
      const before = await membersOf(id)
      const { name = group.name, externalId } = change
      try {
        await db
          .updateTable('scim_groups')
          .set({ name, updated_at: sql<Date>`now()`, ...(externalId !== undefined && { external_id: externalId }) })
          .where('id', '=', id)
          .execute()
      } catch (error) {
        throw translate(error, name)
      }
      await changeMembers(id, change)
      const members = await update(id, name === group.name ? [] : [group.name, name], before, roleOf)
      recordEffect({ before: { name: group.name, members: before.length }, after: { name, members } })
    },

    /** Throws a 404 AppError, or a 409 if the last administrator would lose the role. */
    async remove(id: string, roleOf: RoleOf): Promise<void> {
      const { name } = await find(id)
      const before = await membersOf(id)
      await db.deleteFrom('scim_groups').where('id', '=', id).execute()
      await update(id, [name], before, roleOf)
      recordEffect({ before: { name, members: before.length } })
    }
  }
}

/** Returns groups in order of creation, and the number of all that match. */
export const readScimGroups = (
  db: Db,
  { id, name, externalId, offset, limit }: ScimGroupQuery
): Promise<{ readonly total: number; readonly groups: readonly ScimGroupRow[] }> =>
  withErrorTranslation(async () => {
    const conditions: Expression<SqlBool>[] = [sql<SqlBool>`true`]
    if (id !== undefined) conditions.push(isScimId(id) ? sql<SqlBool>`id = ${id}` : sql<SqlBool>`false`)
    if (name !== undefined) conditions.push(sql<SqlBool>`lower(name) = lower(${name})`)
    if (externalId !== undefined) conditions.push(sql<SqlBool>`external_id = ${externalId}`)
    const all = db.selectFrom('scim_groups').where((where) => where.and(conditions))
    const { count } = await all.select((each) => each.fn.countAll<string>().as('count')).executeTakeFirstOrThrow()
    const rows = await all
      .select(['id', 'name', 'external_id', 'created_at', 'updated_at'])
      .select(sql<string>`(select count(*) from scim_group_members where group_id = scim_groups.id)`.as('members'))
      .orderBy('created_at')
      .orderBy('id')
      .offset(offset)
      .limit(limit)
      .execute()
    const groups = rows.map(({ external_id, created_at, updated_at, members, ...row }) => ({
      ...row,
      externalId: external_id,
      createdAt: created_at,
      updatedAt: updated_at,
      memberCount: Number(members)
    }))
    return { total: Number(count), groups }
  })

/** Returns members of groups, by the ids of the groups. */
export const readScimMembers = (
  db: Db,
  groupIds: readonly string[]
): Promise<ReadonlyMap<string, readonly { readonly id: string; readonly userName: string }[]>> =>
  withErrorTranslation(async () => {
    const rows = await db
      .selectFrom('scim_group_members')
      .innerJoin('scim_users', 'scim_users.user_id', 'scim_group_members.user_id')
      .select(['group_id', 'scim_users.user_id', 'user_name'])
      .where(sql<boolean>`group_id = any(${groupIds}::uuid[])`)
      .orderBy('user_name')
      .execute()
    const members = new Map<string, { id: string; userName: string }[]>(groupIds.map((id) => [id, []]))
    for (const { group_id, user_id, user_name } of rows) {
      members.get(group_id)!.push({ id: user_id, userName: user_name })
    }
    return members
  })
