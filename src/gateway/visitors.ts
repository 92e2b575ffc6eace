import { isObject } from '../domain/is-object.ts'
import { groupOf } from './endpoint.ts'

/** A client on one endpoint, as it names itself. */
export interface Visitor {
  readonly endpoint: string
  readonly name: string
  /** What it said last. */
  version: string | undefined
  /** Milliseconds since 1970. */
  seenAt: number
}

/** Who used which endpoint of this process, and when; for the dashboard alone. */
export interface Visitors {
  /** A request came. */
  came(endpoint: string): void
  /** Its client has said who it is: what later requests of it mark as seen; null where that is no name. */
  met(endpoint: string, info: unknown): Visitor | null
  /** When an endpoint was last used, of those that fit; undefined: never. */
  lastAt(fits?: (endpoint: string) => boolean): number | undefined
  /** Clients on the endpoints that fit, the newest first. */
  clients(fits?: (endpoint: string) => boolean): Visitor[]
  /** The group is no more. */
  forget(group: string): void
}

/** Names come from outside: as long as this, and so many an endpoint, the longest gone forgotten. */
const MAX_TEXT = 80
const MAX_CLIENTS = 20

const text = (value: unknown): string | undefined =>
  // copied: a part of a text keeps the whole of it in memory
  typeof value === 'string' && value !== '' ? Buffer.from(value.slice(0, MAX_TEXT)).toString() : undefined

const all = () => true

export function createVisitors(): Visitors {
  const times = new Map<string, number>()
  const known = new Map<string, Map<string, Visitor>>()

  const makeRoom = (clients: Map<string, Visitor>) => {
    if (clients.size < MAX_CLIENTS) return
    const [oldest] = [...clients.values()].sort((a, b) => a.seenAt - b.seenAt)
    clients.delete(oldest!.name)
  }
  const enter = (endpoint: string, name: string): Visitor => {
    const clients = known.get(endpoint) ?? new Map<string, Visitor>()
    known.set(endpoint, clients)
    makeRoom(clients)
    const visitor: Visitor = { endpoint, name, version: undefined, seenAt: 0 }
    clients.set(name, visitor)
    return visitor
  }
  return {
    came(endpoint) {
      times.set(endpoint, Date.now())
    },
    met(endpoint, info) {
      const name = isObject(info) ? text(info.name) : undefined
      if (name === undefined) return null
      const visitor = known.get(endpoint)?.get(name) ?? enter(endpoint, name)
      visitor.version = text((info as { version?: unknown }).version)
      visitor.seenAt = Date.now()
      return visitor
    },
    lastAt(fits = all) {
      const found = [...times].filter(([endpoint]) => fits(endpoint)).map(([, at]) => at)
      return found.length > 0 ? Math.max(...found) : undefined
    },
    clients: (fits = all) =>
      [...known]
        .filter(([endpoint]) => fits(endpoint))
        .flatMap(([, clients]) => [...clients.values()])
        .sort((a, b) => b.seenAt - a.seenAt),
    forget(group) {
      for (const map of [times, known])
        for (const endpoint of map.keys()) if (groupOf(endpoint) === group) map.delete(endpoint)
    }
  }
}
