import { invalid, notFound } from '../../lib/errors.ts'
import type { Caller } from '../../catalog/caller.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { StoredTeam } from '../../registry/model/model.ts'
import type { Registry } from '../../registry/registry.ts'
import type { TeamConfig } from '../../registry/repositories/teams.ts'
import type { Team, TeamReplacement } from '../../schemas/team.ts'
import { auditChange } from '../audit-change.ts'
import { refuseIfDenied } from '../named-by-policies.ts'

/** Operations on teams. Methods throw or reject with AppError. */
export interface Teams {
  /** Returns all teams by name. */
  list(): Team[]
  /** 404. */
  get(name: string): Team
  /** 400, 404 for an unknown member, 409. Members and groups count at once for every policy. */
  create(caller: Caller, team: TeamConfig): Promise<Team>
  /** Replaces members and groups. 400, 404 for an unknown team or member. */
  replace(caller: Caller, team: TeamConfig): Promise<Team>
  /** 404, 409 if a policy that denies names it. */
  remove(caller: Caller, name: string): Promise<void>
}

/** Returns the team of an input. Throws a 400 AppError if a user or a group is named twice. */
export function toTeam(name: string, { members = [], groups = [] }: Omit<TeamReplacement, 'name'>): TeamConfig {
  const users = members.map(({ user }) => user)
  for (const [path, names] of Object.entries({ members: users, groups })) {
    const seen = new Set<string>()
    const twice = names.find((each) => seen.size === seen.add(each).size)
    if (twice !== undefined) throw invalid(`${path}: "${twice}" is named twice`)
  }
  return { name, members: members.map(({ user, role = 'member' }) => ({ user, role })), groups }
}

export function createTeams(registry: Pick<Registry, 'write'>, catalog: () => Catalog): Teams {
  const recordOf = ({ name, members, groups }: StoredTeam): Team => {
    const { people } = catalog()
    const named = members.flatMap(({ userId, role }) => {
      const user = people.user(userId)?.name
      return user === undefined ? [] : [{ user, role }]
    })
    return { name, members: named.toSorted((a, b) => (a.user < b.user ? -1 : 1)), groups }
  }
  const get = (name: string) => {
    const found = catalog().people.teams.find((team) => team.name === name)
    if (!found) throw notFound('team', name)
    return recordOf(found)
  }
  return {
    list: () => catalog().people.teams.map(recordOf),
    get,

    async create(caller, team) {
      await registry.write(auditChange(caller, 'team.create', team.name), (tx) => tx.teams.create(team))
      return get(team.name)
    },

    async replace(caller, team) {
      await registry.write(auditChange(caller, 'team.replace', team.name), (tx) => tx.teams.replace(team))
      return get(team.name)
    },

    async remove(caller, name) {
      get(name)
      refuseIfDenied(catalog().policies, 'team', name, ({ subjects }) => subjects.teams)
      await registry.write(auditChange(caller, 'team.remove', name), (tx) => tx.teams.remove(name))
    }
  }
}
