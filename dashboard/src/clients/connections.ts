import type { ConnectedClient, RegisteredClient } from '../../../src/schemas/oauth-client.ts'
import { runConcurrently } from '../concurrency.ts'

/** Grant of a person to a program. */
export interface Connection {
  readonly person: string
  readonly given: ConnectedClient
}

/** A program that signs in for people, registered here or known by the URL of its metadata. */
export interface Program {
  readonly id: string
  readonly name: string | undefined
  /** Undefined if the program did not register itself here. */
  readonly registered: RegisteredClient | undefined
  readonly connections: readonly Connection[]
}

/** People whose clients are read; more would be too many requests. */
export const MAX_PEOPLE = 500
const AT_ONCE = 4

/** Returns the grants of people to programs, with one request for each of the first people. */
export async function readConnections(
  people: readonly string[],
  read: (person: string) => Promise<readonly ConnectedClient[]>
): Promise<readonly Connection[]> {
  const found: Connection[] = []
  await runConcurrently(people.slice(0, MAX_PEOPLE), AT_ONCE, async (person) => {
    for (const given of await read(person)) found.push({ person, given })
  })
  return found
}

/** Returns all programs: those that registered themselves, and those that people connected. */
export function programsOf(
  registered: readonly RegisteredClient[],
  connections: readonly Connection[]
): readonly Program[] {
  const byId = new Map<string, Connection[]>()
  for (const each of connections) {
    const own = byId.get(each.given.client_id)
    if (own) own.push(each)
    else byId.set(each.given.client_id, [each])
  }
  const known = new Set(registered.map(({ id }) => id))
  const others = [...byId].filter(([id]) => !known.has(id))
  return [
    ...registered.map((client) => ({
      id: client.id,
      name: client.name,
      registered: client,
      connections: byId.get(client.id) ?? []
    })),
    ...others.map(([id, own]) => ({ id, name: own[0]!.given.name, registered: undefined, connections: own }))
  ]
}

/** Returns the time at which a program last renewed its access or was let in; undefined if nobody let it in. */
export const lastRenewed = ({ connections }: Program): string | undefined =>
  connections
    .map(({ given }) => given.renewed_at ?? given.connected_at)
    .toSorted()
    .at(-1)
