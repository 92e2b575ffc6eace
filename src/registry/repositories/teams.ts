import { randomUUID } from 'node:crypto'
import { AppError, conflict, notFound } from '../../lib/errors.ts'
import type { StoredTeam, TeamRole } from '../model/model.ts'
import type { Db } from '../model/tables.ts'
import { isUniqueViolation } from '../store/failures.ts'
import type { WriteContext } from './context.ts'

const MAX_TEAMS = 1_000

/** Configuration of a team; members by the names of their users */
export interface TeamConfig {
  readonly name: string
  readonly members: readonly { readonly user: string; readonly role: TeamRole }[]
  /** Groups of the identity provider whose people belong to the team */
  readonly groups: readonly string[]
}

/** Creates the repository of teams for a write. */
export function createTeamRepository({ db, version, recordEffect }: WriteContext) {
  const setParts = async (id: string, { members, groups }: TeamConfig) => {
    await db.deleteFrom('team_members').where('team_id', '=', id).execute()
    await db.deleteFrom('team_groups').where('team_id', '=', id).execute()
    const names = members.map(({ user }) => user)
    const users = names.length
      ? await db.selectFrom('users').select(['id', 'name']).where('name', 'in', names).execute()
      : []
    const ids = new Map(users.map((user) => [user.name, user.id]))
    const rows = members.map(({ user, role }) => {
      const userId = ids.get(user)
      if (userId === undefined) throw notFound('user', user)
      return { team_id: id, user_id: userId, role }
    })
    if (rows.length > 0) await db.insertInto('team_members').values(rows).execute()
    const named = groups.map((idp_group) => ({ team_id: id, idp_group }))
    if (named.length > 0) await db.insertInto('team_groups').values(named).execute()
  }
  const audited = ({ members, groups }: TeamConfig) => ({
    members: members.map(({ user, role }) => (role === 'manager' ? `${user} (manager)` : user)),
    groups
  })
  return {
    /** Throws a 409 AppError if the name is taken or there are too many teams, a 404 for an unknown member. */
    async create(team: TeamConfig): Promise<void> {
      const { count } = await db
        .selectFrom('teams')
        .select((teams) => teams.fn.countAll<string>().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) >= MAX_TEAMS) throw new AppError(409, `there are already ${MAX_TEAMS} teams`)
      const id = randomUUID()
      try {
        await db.insertInto('teams').values({ id, name: team.name, revision: version }).execute()
      } catch (error) {
        throw isUniqueViolation(error, 'teams_name_key') ? conflict('team', team.name) : error
      }
      await setParts(id, team)
      recordEffect({ after: audited(team) })
    },

    /** Replaces members and groups. Throws a 404 AppError for an unknown team or member. */
    async replace(team: TeamConfig): Promise<void> {
      const found = await db
        .updateTable('teams')
        .set({ revision: version })
        .where('name', '=', team.name)
        .returning('id')
        .executeTakeFirst()
      if (!found) throw notFound('team', team.name)
      await setParts(found.id, team)
      recordEffect({ after: audited(team) })
    },

    /** Throws a 404 AppError. */
    async remove(name: string): Promise<void> {
      const removed = await db.deleteFrom('teams').where('name', '=', name).returning('id').executeTakeFirst()
      if (!removed) throw notFound('team', name)
      recordEffect({ before: { name } })
    }
  }
}

function byTeam<R extends { readonly team_id: string }>(rows: readonly R[]): ReadonlyMap<string, R[]> {
  const teams = new Map<string, R[]>()
  for (const row of rows) {
    const own = teams.get(row.team_id)
    if (own) own.push(row)
    else teams.set(row.team_id, [row])
  }
  return teams
}

/** Returns all teams by name; the same objects as `known` where the revision and the members are the same. */
export async function readTeams(db: Db, known: readonly StoredTeam[] = []): Promise<readonly StoredTeam[]> {
  const heads = await db.selectFrom('teams').select(['id', 'name', 'revision']).execute()
  if (heads.length === 0) return known.length === 0 ? known : []
  // a removed user leaves its teams without a new revision of theirs
  const members = await db.selectFrom('team_members').selectAll().orderBy('user_id').execute()
  const groups = await db.selectFrom('team_groups').selectAll().orderBy('idp_group').execute()
  const membersOf = byTeam(members)
  const groupsOf = byTeam(groups)
  const old = new Map(known.map((team) => [team.id, team]))
  const sorted = heads.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const teams = sorted.map((head) => {
    const own = membersOf.get(head.id) ?? []
    const before = old.get(head.id)
    if (before?.revision === head.revision && before.members.length === own.length) return before
    return {
      ...head,
      members: own.map(({ user_id: userId, role }) => ({ userId, role })),
      groups: (groupsOf.get(head.id) ?? []).map(({ idp_group }) => idp_group)
    }
  })
  return teams.length === known.length && teams.every((team, i) => team === known[i]) ? known : teams
}
