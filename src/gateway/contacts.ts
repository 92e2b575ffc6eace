import type { ReadingTimes } from '../registry/model.ts'
import type { Catalog } from './catalog.ts'
import type { Observer } from './observation.ts'
import type { FailureReason } from './upstream/failure.ts'

/** How the last contact with a server went: a call, a re-read of its lists, a test, its registration. */
export interface ServerHealth {
  readonly isHealthy: boolean
  /** Milliseconds since 1970: when it became so. */
  readonly since: number
  /** Of the failure, without secrets. */
  readonly reason?: FailureReason
  readonly error?: string
  /** Last line that its process had written by then. */
  readonly stderr?: string
}

export interface HealthTrackerOptions {
  /** Last line of a server's stderr, if there is any. */
  lastLine(server: string): string | undefined
  /** Told when the status of a server is another one. */
  onChange(): void
}

/** Status of servers from real contacts (design of the dashboard, 3.3). By name; what is not in the catalog is forgotten. */
export interface HealthTracker {
  /** Takes what calls find. */
  readonly observer: Pick<Observer, 'onCall' | 'onConnectionFailure'>
  /** Runs what reads from a server, and takes how it goes. */
  track<T extends ReadResult>(
    server: string,
    work: () => Promise<T>,
    failureOf: (error: unknown) => ContactFailure | undefined
  ): Promise<T>
  /** It answered, and was read in so long. */
  recordSuccess(server: string, took?: ReadingTimes): void
  /** Undefined: not contacted yet. */
  get(server: string): ServerHealth | undefined
  isConnecting(server: string): boolean
  /** When its lists were last read by `during`, in milliseconds since 1970. */
  lastReadAt(server: string): number | undefined
  /** What its last reading took, where this process did it. */
  readingTimes(server: string): ReadingTimes | undefined
  /** When a contact last worked, in milliseconds since 1970. */
  lastSuccessAt(server: string): number | undefined
  keep(catalog: Catalog): void
}

interface ReadResult {
  readonly took?: ReadingTimes
}

export interface ContactFailure {
  readonly reason: FailureReason
  readonly message: string
}

/** Says nothing about the server: ended or held up on our side, or an answer that was too long. */
const neutral: ReadonlySet<FailureReason> = new Set<FailureReason>(['cancelled', 'limited', 'overloaded', 'too_large'])

export function createHealthTracker({ lastLine, onChange }: HealthTrackerOptions): HealthTracker {
  const contacts = new Map<string, ServerHealth>()
  const worked = new Map<string, number>()
  const read = new Map<string, number>()
  const times = new Map<string, ReadingTimes>()
  const running = new Map<string, number>()

  const set = (server: string, contact: ServerHealth) => {
    contacts.set(server, contact)
    onChange()
  }
  const good = (server: string, took?: ReadingTimes) => {
    const now = Date.now()
    if (took) times.set(server, took)
    worked.set(server, now)
    if (!contacts.get(server)?.isHealthy) set(server, { isHealthy: true, since: now })
  }
  const bad = (server: string, { reason, message: error }: ContactFailure) => {
    if (neutral.has(reason)) return
    const before = contacts.get(server)
    if (before?.reason === reason && before.error === error) return
    const stderr = lastLine(server)
    const since = before && !before.isHealthy ? before.since : Date.now()
    set(server, { isHealthy: false, since, reason, error, ...(stderr === undefined ? {} : { stderr }) })
  }
  const count = (server: string, by: 1 | -1) => {
    const now = (running.get(server) ?? 0) + by
    if (now > 0) running.set(server, now)
    else running.delete(server)
    if (!contacts.get(server)?.isHealthy) onChange()
  }

  return {
    observer: {
      onCall({ server, outcome }) {
        if (server !== undefined && (outcome === 'ok' || outcome === 'tool_error')) good(server)
      },
      onConnectionFailure: (server, reason, message) => bad(server, { reason, message })
    },
    async track(server, work, failureOf) {
      count(server, 1)
      try {
        const result = await work()
        good(server, result.took)
        read.set(server, Date.now())
        return result
      } catch (error) {
        const lost = failureOf(error)
        if (lost) bad(server, lost)
        throw error
      } finally {
        count(server, -1)
      }
    },
    recordSuccess: good,
    get: (server) => contacts.get(server),
    readingTimes: (server) => times.get(server),
    isConnecting: (server) => running.has(server) && !contacts.get(server)?.isHealthy,
    lastReadAt: (server) => read.get(server),
    lastSuccessAt: (server) => worked.get(server),
    keep(catalog) {
      for (const known of [contacts, worked, read, times]) {
        for (const server of known.keys()) if (!catalog.server(server)) known.delete(server)
      }
    }
  }
}
