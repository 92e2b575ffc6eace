import type { Role } from '../access/access.ts'
import { compileGlobs, type Glob } from './glob.ts'
import type { PolicySubjects } from './rule.ts'

/** A caller as policies see it. */
export interface Subject {
  readonly kind: Role | 'client'
  readonly name: string
  /** Groups of the identity provider; empty for MCP clients. */
  readonly groups: readonly string[]
  readonly teams: readonly string[]
  /** Scopes of the caller's token; empty for a token without scopes. They count per call, never for the permit. */
  readonly scopes?: readonly string[] | undefined
  /** `client_id` of the OAuth client through which a person calls. */
  readonly oauthClient?: string | undefined
}

const never: Glob = () => false
const globOf = (list: readonly string[]): Glob => (list.length > 0 ? compileGlobs(list) : never)

/** Returns a test for the callers that these subjects select. */
export function compileSubjects(subjects: PolicySubjects): (subject: Subject) => boolean {
  const { users = [], groups = [], teams = [], roles = [], clients = [], oauth_clients: oauthClients = [] } = subjects
  const namesPeople = users.length + groups.length + teams.length + roles.length > 0
  const namesPrograms = clients.length + oauthClients.length > 0
  const [isUser, isGroup, isTeam, isRole] = [globOf(users), globOf(groups), globOf(teams), globOf(roles)]
  const [isClient, isOAuthClient] = [globOf(clients), globOf(oauthClients)]
  const isPerson = (subject: Subject) =>
    subject.kind !== 'client' &&
    (isUser(subject.name) || isRole(subject.kind) || subject.groups.some(isGroup) || subject.teams.some(isTeam))
  const isProgram = ({ kind, name, oauthClient }: Subject) =>
    kind === 'client' ? isClient(name) : oauthClient !== undefined && isOAuthClient(oauthClient)
  return (subject) => (!namesPeople || isPerson(subject)) && (!namesPrograms || isProgram(subject))
}
