import type { OAuthGrant, OAuthGrantPage, RegisteredClient } from '../../../src/schemas/oauth-client.ts'

/** Access that a person gave to a program, in one or more grants. */
export interface Connection {
  readonly person: string
  readonly scopes: readonly string[]
  /** ISO 8601; the last renewal, or the consent if there was none */
  readonly renewedAt: string
}

/** A program that signs in for people, registered here or known by the URL of its metadata. */
export interface Program {
  readonly id: string
  readonly name: string | undefined
  /** Undefined if the program did not register itself here. */
  readonly registered: RegisteredClient | undefined
  readonly connections: readonly Connection[]
}

/** Pages after the first one that are read; more would be too many requests. */
const MAX_PAGES = 9

/** Grants, and whether there are more than were read. */
export interface ReadGrants {
  readonly grants: readonly OAuthGrant[]
  readonly isCut: boolean
}

/** Reads the pages after a first one, up to 10,000 grants in all. */
export async function readFurther(
  first: OAuthGrantPage,
  read: (cursor: string) => Promise<OAuthGrantPage>
): Promise<ReadGrants> {
  const grants = [...first.grants]
  let { next_cursor: next } = first
  for (let pages = 0; next !== undefined && pages < MAX_PAGES; pages++) {
    const page = await read(next)
    grants.push(...page.grants)
    next = page.next_cursor
  }
  return { grants, isCut: next !== undefined }
}

const timeOf = ({ renewed_at, connected_at }: OAuthGrant): string => renewed_at ?? connected_at

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const own = groups.get(key)
    if (own) own.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** Returns one connection for each person. */
function connectionsOf(grants: readonly OAuthGrant[]): readonly Connection[] {
  const people = groupBy(grants, ({ user }) => user)
  return [...people].map(([person, own]) => ({
    person,
    scopes: [...new Set(own.flatMap(({ endpoints }) => endpoints.flatMap(({ scopes }) => scopes)))],
    renewedAt: own.map(timeOf).toSorted().at(-1)!
  }))
}

/** Returns all programs: those that registered themselves, and those that people connected. */
export function programsOf(registered: readonly RegisteredClient[], grants: readonly OAuthGrant[]): readonly Program[] {
  const byId = groupBy(grants, ({ client_id }) => client_id)
  const known = new Set(registered.map(({ id }) => id))
  const others = [...byId].filter(([id]) => !known.has(id))
  return [
    ...registered.map((client) => ({
      id: client.id,
      name: client.name,
      registered: client,
      connections: connectionsOf(byId.get(client.id) ?? [])
    })),
    ...others.map(([id, own]) => ({
      id,
      name: own[0]!.name,
      registered: undefined,
      connections: connectionsOf(own)
    }))
  ]
}

/** Returns the time at which a program last renewed its access or was let in; undefined if nobody let it in. */
export const lastRenewed = ({ connections }: Program): string | undefined =>
  connections
    .map(({ renewedAt }) => renewedAt)
    .toSorted()
    .at(-1)
