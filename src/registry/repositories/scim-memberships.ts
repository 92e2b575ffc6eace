import { sql } from 'kysely'
import type { Role } from '../../domain/access/access.ts'
import { AppError } from '../../lib/errors.ts'
import type { Db } from '../model/tables.ts'
import { requireAdministrator } from './access-tokens.ts'
import type { WriteContext } from './context.ts'

/** Groups of one user, as at sign-in */
const MAX_GROUPS = 1_000

/** Returns the role that groups give; undefined if groups give no roles */
export type RoleOf = (groups: readonly string[]) => Role | undefined

/** Returns the groups of a sign-in, where those that the SCIM client manages are replaced by the user's memberships. */
export async function mergeGroups(db: Db, userId: string | undefined, claimed: readonly string[]): Promise<string[]> {
  const managed = await db
    .selectFrom('scim_groups')
    .select('name')
    .where('name', 'in', ['', ...claimed])
    .execute()
  const own =
    userId === undefined
      ? []
      : await db
          .selectFrom('scim_group_members')
          .innerJoin('scim_groups', 'scim_groups.id', 'group_id')
          .select('name')
          .where('user_id', '=', userId)
          .execute()
  const names = new Set(managed.map(({ name }) => name))
  return [...new Set([...claimed.filter((group) => !names.has(group)), ...own.map(({ name }) => name)])]
}

/** Returns the users who have one of these groups, from wherever. */
export async function usersInGroups(db: Db, names: readonly string[]): Promise<string[]> {
  const users = await db
    .selectFrom('users')
    .select('id')
    .where(sql<boolean>`groups <> '[]' and groups::jsonb ?| ${names}::text[]`)
    .execute()
  return users.map(({ id }) => id)
}

/**
 * Writes the memberships of users into their groups, after groups of these names changed, and gives them the roles of the
 * groups. Throws a 400 AppError if a user is in too many groups, and a 409 if the last administrator would lose the role.
 */
export async function applyMemberships(
  { db, version }: Pick<WriteContext, 'db' | 'version'>,
  { users, names }: { readonly users: readonly string[]; readonly names: readonly string[] },
  roleOf: RoleOf
): Promise<void> {
  if (users.length === 0) return
  const { rows } = await sql<{ id: string; role: Role; role_source: string; groups: string }>`
    update users set revision = ${version}, groups = coalesce((
      select jsonb_agg(name order by name)::text from (
        select claimed.name from jsonb_array_elements_text(users.groups::jsonb) as claimed(name)
        where claimed.name <> all(${names}::text[])
        union
        select scim_groups.name from scim_group_members join scim_groups on scim_groups.id = group_id
        where user_id = users.id
      ) as merged), '[]')
    where id = any(${users}::uuid[])
    returning id, role, role_source, groups`.execute(db)
  let isLessAdmin = false
  for (const { id, role: before, role_source, groups } of rows) {
    const parsed = JSON.parse(groups) as string[]
    if (parsed.length > MAX_GROUPS) {
      throw new AppError(400, `a user can be in at most ${MAX_GROUPS} groups`, { code: 'invalidValue' })
    }
    const role = role_source === 'mapped' ? (roleOf(parsed) ?? before) : before
    if (role === before) continue
    await db.updateTable('users').set({ role }).where('id', '=', id).execute()
    if (before === 'admin') isLessAdmin = true
  }
  if (isLessAdmin) await requireAdministrator(db, 'the last administrator cannot lose the role')
}
