import { createHash } from 'node:crypto'
import { allServers } from '../domain/policy/allow-list.ts'
import type { TokenScope } from '../domain/access/access.ts'
import type {
  SignIn,
  StoredPrincipal,
  StoredTeam,
  StoredUser,
  Tombstone,
  TombstoneKind
} from '../registry/model/model.ts'
import type { Caller } from './caller.ts'

/** Groups and teams of a user, as subjects of policies. */
export interface Memberships {
  readonly groups: readonly string[]
  readonly teams: readonly string[]
}

/** Verified token of an OAuth client, or browser session, of a user. */
export interface SignedIn {
  readonly signIn: SignIn
  /** Undefined: all rights of the user's role. */
  readonly scopes?: readonly TokenScope[] | undefined
  /** `client_id`; undefined for browser sessions. */
  readonly oauthClient?: string | undefined
  /** Addresses of the endpoints for which the token was issued, or all MCP endpoints; undefined for browser sessions. */
  readonly audience?: readonly string[] | 'every' | undefined
}

/** People who sign in, and the sign-ins that have ended. */
export interface People {
  /** Number that changes whenever groups or teams of somebody do. */
  readonly revision: number
  /** Returns the user with this id, suspended or not. */
  user(id: string): StoredUser | undefined
  readonly teams: readonly StoredTeam[]
  /** Number of users, suspended ones too. */
  readonly size: number
  /** Counts the active users who have signed in at the identity provider, and those of them with groups. */
  countSignedIn(): { readonly total: number; readonly withGroups: number }
  membershipsOf(userId: string): Memberships
  /** Returns the teams of a person who is in these groups of the identity provider. */
  teamsOfGroups(groups: readonly string[]): readonly string[]
  /** Tests if a credential has ended before it expired. `hash`: SHA-256 of its id. */
  isEnded(kind: TombstoneKind, hash: Uint8Array): boolean
  /** Tests if a sign-in still authenticates a user of this role. Its expiry is not checked. */
  isActive(signIn: SignIn, role: Caller['kind']): boolean
  /** Returns the caller of a sign-in; undefined if it has ended, or if the user is unknown or suspended. */
  callerOf(signedIn: SignedIn): Caller | undefined
}

const nobody: Memberships = { groups: [], teams: [] }

/** Key of the caller: one for each OAuth client of a user. */
function keyOf(userId: string, oauthClient: string | undefined): string {
  if (oauthClient === undefined) return `user:${userId}`
  return `user:${userId}/${createHash('sha256').update(oauthClient).digest('hex').slice(0, 16)}`
}

function indexTeams(teams: readonly StoredTeam[]) {
  const teamsOfMember = new Map<string, string[]>()
  const teamsOfGroup = new Map<string, string[]>()
  const add = (map: Map<string, string[]>, key: string, team: string) => {
    const names = map.get(key)
    if (names) names.push(team)
    else map.set(key, [team])
  }
  for (const { name, members, groups } of teams) {
    for (const { userId } of members) add(teamsOfMember, userId, name)
    for (const group of groups) add(teamsOfGroup, group, name)
  }
  return { teamsOfMember, teamsOfGroup }
}

const hasStaticToken = ({ tokens }: StoredUser, tokenHash: Uint8Array): boolean =>
  tokens.some(({ kind, hash }) => kind === 'static' && Buffer.compare(hash, tokenHash) === 0)

function indexPeople(
  principals: readonly StoredPrincipal[],
  teams: readonly StoredTeam[],
  tombstones: readonly Tombstone[],
  revision: number
): People {
  const users = new Map<string, StoredUser>()
  for (const each of principals) if (each.kind !== 'client') users.set(each.id, each)
  const ended = new Set(tombstones.map(({ kind, hash }) => `${kind} ${hash}`))
  const isEnded = (kind: TombstoneKind, hash: Uint8Array) =>
    ended.size > 0 && ended.has(`${kind} ${Buffer.from(hash).toString('hex')}`)
  const isActive = (
    { kind, principalId: userId, credential, validFrom, providerSession, staticToken }: SignIn,
    role: Caller['kind']
  ) => {
    const user = users.get(userId)
    if (!user?.active || user.kind !== role || kind === 'client') return false
    if (providerSession && isEnded('idp_sid', providerSession)) return false
    if (staticToken && !hasStaticToken(user, staticToken)) return false
    return (user.sessionsValidFrom ?? 0) <= validFrom && !isEnded(kind, credential)
  }
  const known = new Map<string, Memberships>()
  const { teamsOfMember, teamsOfGroup } = indexTeams(teams)
  const teamsOfGroups = (groups: readonly string[]) => groups.flatMap((group) => teamsOfGroup.get(group) ?? [])
  // a token that was verified once is the same object with each request
  const callers = new WeakMap<SignedIn, Caller>()
  return {
    revision,
    user: (id) => users.get(id),
    teams,
    size: users.size,
    isEnded,
    isActive,
    countSignedIn() {
      const signedIn = [...users.values()].filter(({ active, claimsAt }) => active && claimsAt !== null)
      return { total: signedIn.length, withGroups: signedIn.filter(({ groups }) => groups.length > 0).length }
    },
    teamsOfGroups: (groups) => [...new Set(teamsOfGroups(groups))],
    membershipsOf(userId) {
      const user = users.get(userId)
      if (!user) return nobody
      let found = known.get(userId)
      if (!found) {
        const { groups } = user
        const own = [...(teamsOfMember.get(userId) ?? []), ...teamsOfGroups(groups)]
        known.set(userId, (found = { groups, teams: own.length > 1 ? [...new Set(own)] : own }))
      }
      return found
    },
    callerOf(signedIn) {
      const { signIn, scopes, oauthClient } = signedIn
      const user = users.get(signIn.principalId)
      if (!user || !isActive(signIn, user.kind)) return undefined
      let caller = callers.get(signedIn)
      if (!caller) {
        const { kind, name, id } = user
        caller = { kind, name, key: keyOf(id, oauthClient), allowed: allServers, scopes, signIn, oauthClient }
        callers.set(signedIn, caller)
      }
      return caller
    }
  }
}

const isEqual = (a: readonly string[], b: readonly string[]) =>
  a === b || (a.length === b.length && a.every((text, i) => text === b[i]))

/** Returns true if no user of `next` is in other groups, or has become a member of other teams. */
function hasSameMemberships(before: People, next: People, principals: readonly StoredPrincipal[]): boolean {
  return principals.every(({ id, kind }) => {
    if (kind === 'client') return true
    const [old, now] = [before.membershipsOf(id), next.membershipsOf(id)]
    return isEqual(old.groups, now.groups) && isEqual(old.teams, now.teams)
  })
}

/** Indexes the people of each catalog; while none of them changes the index stays the same. */
export function createPeopleIndexer() {
  let indexed: readonly unknown[] = []
  let people = indexPeople([], [], [], 0)
  return (
    principals: readonly StoredPrincipal[],
    teams: readonly StoredTeam[],
    tombstones: readonly Tombstone[]
  ): People => {
    const next = [...principals, teams, tombstones]
    const isSame = next.length === indexed.length && next.every((part, i) => part === indexed[i])
    if (isSame) return people
    indexed = next
    const fresh = indexPeople(principals, teams, tombstones, people.revision)
    const isUnchanged = hasSameMemberships(people, fresh, principals)
    people = isUnchanged ? fresh : indexPeople(principals, teams, tombstones, people.revision + 1)
    return people
  }
}
