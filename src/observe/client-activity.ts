import { isObject } from '../domain/is-object.ts'
import { groupOf } from '../catalog/endpoint.ts'

/** A client of one endpoint, by the name in its `clientInfo`. */
export interface ActiveClient {
  readonly endpoint: string
  readonly name: string
  /** Version in its latest `clientInfo`. */
  version: string | undefined
  /** Milliseconds since 1970. */
  seenAt: number
}

/** Records a client's `clientInfo`; returns null if client activity is not recorded. */
export type RecordClient = (endpoint: string, client: unknown) => ActiveClient | null

/** Clients and last use of each endpoint in this process, for the dashboard. */
export interface ClientActivity {
  /** Records a request. */
  recordRequest(endpoint: string): void
  /** Records a client's `clientInfo` and returns its entry, for later requests to update; null if it has no name. */
  recordClient(endpoint: string, info: unknown): ActiveClient | null
  /** Returns when an endpoint that `fits` was last used, in milliseconds since 1970; undefined if never. */
  lastUsedAt(fits?: (endpoint: string) => boolean): number | undefined
  /** Returns when each endpoint was last used. */
  lastUses(): readonly (readonly [endpoint: string, at: number])[]
  /** Returns the clients of the endpoints that `fits` accepts, the most recent first. */
  listClients(fits?: (endpoint: string) => boolean): ActiveClient[]
  /** Drops the entries of a removed group. */
  forgetGroup(group: string): void
}

/** Limits for names, which clients choose: characters, and clients per endpoint, of which the oldest is dropped. */
const MAX_TEXT = 80
const MAX_CLIENTS = 20

const text = (value: unknown): string | undefined =>
  // copied, because a slice keeps the whole string in memory
  typeof value === 'string' && value !== '' ? Buffer.from(value.slice(0, MAX_TEXT)).toString() : undefined

const all = () => true

export function createClientActivity(): ClientActivity {
  const times = new Map<string, number>()
  const known = new Map<string, Map<string, ActiveClient>>()

  const makeRoom = (clients: Map<string, ActiveClient>) => {
    if (clients.size < MAX_CLIENTS) return
    const [oldest] = [...clients.values()].sort((a, b) => a.seenAt - b.seenAt)
    clients.delete(oldest!.name)
  }
  const addClient = (endpoint: string, name: string): ActiveClient => {
    const clients = known.get(endpoint) ?? new Map<string, ActiveClient>()
    known.set(endpoint, clients)
    makeRoom(clients)
    const client: ActiveClient = { endpoint, name, version: undefined, seenAt: 0 }
    clients.set(name, client)
    return client
  }
  return {
    recordRequest(endpoint) {
      times.set(endpoint, Date.now())
    },
    recordClient(endpoint, info) {
      const name = isObject(info) ? text(info.name) : undefined
      if (name === undefined) return null
      const client = known.get(endpoint)?.get(name) ?? addClient(endpoint, name)
      client.version = text((info as { version?: unknown }).version)
      client.seenAt = Date.now()
      return client
    },
    lastUsedAt(fits = all) {
      const found = [...times].filter(([endpoint]) => fits(endpoint)).map(([, at]) => at)
      return found.length > 0 ? Math.max(...found) : undefined
    },
    lastUses: () => [...times],
    listClients: (fits = all) =>
      [...known]
        .filter(([endpoint]) => fits(endpoint))
        .flatMap(([, clients]) => [...clients.values()])
        .sort((a, b) => b.seenAt - a.seenAt),
    forgetGroup(group) {
      for (const map of [times, known])
        for (const endpoint of map.keys()) if (groupOf(endpoint) === group) map.delete(endpoint)
    }
  }
}
