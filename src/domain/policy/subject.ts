import type { Role } from '../access/access.ts'
import { compileGlobs } from './glob.ts'
import type { PolicySubjects } from './rule.ts'

/** A caller as policies see it. */
export interface Subject {
  readonly kind: Role | 'client'
  readonly name: string
}

/** Returns a test for the callers that these subjects select. */
export function compileSubjects({
  users = [],
  roles = [],
  clients = []
}: PolicySubjects): (subject: Subject) => boolean {
  const hasPeople = users.length + roles.length > 0
  if (!hasPeople && clients.length === 0) return () => true
  const isUser = users.length > 0 ? compileGlobs(users) : () => false
  const hasRole = roles.length > 0 ? compileGlobs(roles) : () => false
  const isClient = clients.length > 0 ? compileGlobs(clients) : () => false
  return ({ kind, name }) =>
    kind === 'client' ? !hasPeople && isClient(name) : clients.length === 0 && (isUser(name) || hasRole(kind))
}
