import { allServers, parseAllowList } from '../../domain/policy/allow-list.ts'
import type { Permit } from '../../domain/policy/permit.ts'
import type { Subject } from '../../domain/policy/subject.ts'
import type { Catalog } from '../../catalog/catalog.ts'

/** A caller as policies see it, with the allow list that decides without policies. */
export interface Permitted {
  readonly subject: Subject
  readonly allowed: Permit
}

/** The users and MCP clients of a catalog. */
export interface Subjects {
  /** Returns the user or MCP client of this name; undefined if there is none. */
  of(kind: 'user' | 'client', name: string): Permitted | undefined
}

/** Finds callers by their names, with their groups and teams of now. */
export function createSubjects({ principals, people }: Pick<Catalog, 'principals' | 'people'>): Subjects {
  const byName = new Map(
    principals.map(({ stored }) => [`${stored.kind === 'client' ? 'client' : 'user'} ${stored.name}`, stored])
  )
  return {
    of(kind, name) {
      const stored = byName.get(`${kind} ${name}`)
      if (!stored) return undefined
      if (stored.kind !== 'client') {
        return { subject: { kind: stored.kind, name, ...people.membershipsOf(stored.id) }, allowed: allServers }
      }
      const allowed = parseAllowList(stored.allowed_servers)
      return { subject: { kind: 'client', name, groups: [], teams: [] }, allowed }
    }
  }
}
