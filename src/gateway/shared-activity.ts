import type { Catalog } from '../catalog/catalog.ts'
import type { HealthReader, ServerHealth } from '../control/dashboard/server-health.ts'
import type { ActiveClient, ClientActivity } from '../observe/client-activity.ts'
import type { DiscoveryTimings } from '../registry/model/model.ts'
import type { SessionCounts } from '../upstream/sessions/upstream-sessions.ts'
import type { StartTimes } from '../upstream/sessions/start-meter.ts'

/** Activity at one server, as one process knows it; members are absent without any. */
interface ServerActivity {
  readonly id: string
  readonly name: string
  readonly contact?: ServerHealth | undefined
  readonly isConnecting: boolean
  readonly readAt?: number | undefined
  readonly successAt?: number | undefined
  readonly timings?: DiscoveryTimings | undefined
  readonly sessions: SessionCounts
  readonly startTimes?: StartTimes | undefined
}

/** Activity in one worker, which it sends to the others as JSON. */
export interface WorkerActivity {
  readonly activeCalls: number
  readonly lastUses: readonly (readonly [endpoint: string, at: number])[]
  readonly clients: readonly ActiveClient[]
  readonly servers: readonly ServerActivity[]
}

/** The activity in this process. */
export interface OwnActivity {
  catalog(): Catalog
  readonly health: HealthReader
  readonly clientActivity: Pick<ClientActivity, 'lastUses' | 'lastUsedAt' | 'listClients'>
  sessions(id: string): SessionCounts
  startTimes(id: string): StartTimes | undefined
  activeCalls(): number
}

/** Activity in this process and in the other workers, as far as these have answered, for pages and records. */
export interface SharedActivity {
  readonly health: HealthReader
  readonly clientActivity: Pick<ClientActivity, 'lastUsedAt' | 'listClients'>
  sessions(id: string): SessionCounts
  startTimes(id: string): StartTimes | undefined
  activeCalls(): number
  /** Returns the activity in this process, for the others. */
  own(): WorkerActivity
  setOthers(others: readonly WorkerActivity[]): void
}

/** Time of the last contact that is known: a failure that repeats itself keeps the time of the first. */
const timeOf = ({ contact, successAt = 0 }: ServerActivity) => (contact?.isHealthy ? successAt : (contact?.since ?? 0))

const latest = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined)
  return known.length > 0 ? Math.max(...known) : undefined
}

const sum = (counts: readonly SessionCounts[]): SessionCounts => {
  const spares = counts.flatMap(({ spare }) => (spare === undefined ? [] : [spare]))
  const total = (values: readonly number[]) => values.reduce((before, value) => before + value, 0)
  return {
    open: total(counts.map(({ open }) => open)),
    idle: total(counts.map(({ idle }) => idle)),
    spare: spares.length > 0 ? total(spares) : undefined
  }
}

export function createSharedActivity(own: OwnActivity): SharedActivity {
  const { health, clientActivity } = own
  let others: readonly WorkerActivity[] = []
  let byServer: ReadonlyMap<string, readonly ServerActivity[]> = new Map()

  const ownOf = (id: string, name: string): ServerActivity => ({
    id,
    name,
    contact: health.get(name),
    isConnecting: health.isConnecting(name),
    readAt: health.lastReadAt(name),
    successAt: health.lastSuccessAt(name),
    timings: health.readingTimes(name),
    sessions: own.sessions(id),
    startTimes: own.startTimes(id)
  })
  /** Returns what others know of a server, by its name or id. */
  const othersOf = (key: string) => byServer.get(key) ?? []
  const newest = (name: string): ServerActivity => {
    const all = [ownOf('', name), ...othersOf(name)]
    return all.reduce((best, next) => (timeOf(next) > timeOf(best) ? next : best))
  }
  return {
    health: {
      get: (name) => (othersOf(name).length === 0 ? health.get(name) : newest(name).contact),
      isConnecting: (name) => health.isConnecting(name) || othersOf(name).some(({ isConnecting }) => isConnecting),
      lastReadAt: (name) => latest([health.lastReadAt(name), ...othersOf(name).map(({ readAt }) => readAt)]),
      readingTimes: (name) => health.readingTimes(name) ?? othersOf(name).find(({ timings }) => timings)?.timings,
      lastSuccessAt: (name) => latest([health.lastSuccessAt(name), ...othersOf(name).map(({ successAt }) => successAt)])
    },
    clientActivity: {
      lastUsedAt(fits = () => true) {
        const theirs = others.flatMap(({ lastUses }) => lastUses.filter(([endpoint]) => fits(endpoint)))
        return latest([clientActivity.lastUsedAt(fits), ...theirs.map(([, at]) => at)])
      },
      listClients(fits = () => true) {
        const theirs = others.flatMap(({ clients }) => clients.filter(({ endpoint }) => fits(endpoint)))
        const known = new Map<string, ActiveClient>()
        for (const client of [...clientActivity.listClients(fits), ...theirs]) {
          const key = `${client.endpoint} ${client.name}`
          if (client.seenAt > (known.get(key)?.seenAt ?? -1)) known.set(key, client)
        }
        return [...known.values()].sort((a, b) => b.seenAt - a.seenAt)
      }
    },
    sessions: (id) => sum([own.sessions(id), ...othersOf(id).map(({ sessions }) => sessions)]),
    startTimes: (id) => own.startTimes(id) ?? othersOf(id).find(({ startTimes }) => startTimes)?.startTimes,
    activeCalls: () => others.reduce((count, { activeCalls }) => count + activeCalls, own.activeCalls()),
    own: () => ({
      activeCalls: own.activeCalls(),
      lastUses: clientActivity.lastUses(),
      clients: clientActivity.listClients(),
      servers: own.catalog().servers.map(({ name, stored }) => ownOf(stored.id, name))
    }),
    setOthers(next) {
      others = next
      const found = new Map<string, ServerActivity[]>()
      for (const server of next.flatMap(({ servers }) => servers)) {
        for (const key of [server.id, server.name]) found.set(key, [...(found.get(key) ?? []), server])
      }
      byServer = found
    }
  }
}
