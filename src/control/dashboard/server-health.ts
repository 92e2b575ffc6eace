import { explain, type Explanation } from '../../domain/failures/explain.ts'
import { bestLine, lastLines } from '../../domain/failures/stderr-line.ts'
import type { DiscoveryTimings } from '../../registry/model/model.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Observer } from '../../observe/observation.ts'
import type { FailureReason } from '../../protocol/upstream-failure.ts'

/** Result of the last contact with a server: a call, a refresh of its lists, a test or its registration. */
export interface ServerHealth {
  readonly isHealthy: boolean
  /** Time of the change to the current state, in milliseconds since 1970. */
  readonly since: number
  /** Reason of the failure; `error` is its message without secrets. */
  readonly reason?: FailureReason
  readonly error?: string
  /** Line of the process's stderr that says best why it failed. */
  readonly stderr?: string
  /** Known cause, and the next step. */
  readonly explanation?: Explanation
}

export interface HealthTrackerOptions {
  /** Returns the last lines of a server's stderr, oldest first. */
  stderr(server: string): readonly string[]
  /** Called when the status of a server changes. */
  onChange(): void
}

/** Health of servers by name. */
export interface HealthReader {
  /** Returns undefined before the first contact. */
  get(server: string): ServerHealth | undefined
  isConnecting(server: string): boolean
  /** Returns the time of the last success of `track`, in milliseconds since 1970. */
  lastReadAt(server: string): number | undefined
  /** Returns the durations of the last reading of the lists. */
  readingTimes(server: string): DiscoveryTimings | undefined
  /** Returns the time of the last successful contact, in milliseconds since 1970. */
  lastSuccessAt(server: string): number | undefined
}

/** Health in this process, derived from real contacts only (dashboard.md#status-and-outcomes). */
export interface HealthTracker extends HealthReader {
  /** Observer that records the outcomes of calls. */
  readonly observer: Pick<Observer, 'onCall' | 'onConnectionFailure'>
  /** Runs `work`, which reads from a server, and records its outcome; `failureOf` selects the errors to record. */
  track<T extends ReadResult>(
    server: string,
    work: () => Promise<T>,
    failureOf: (error: unknown) => ContactFailure | undefined
  ): Promise<T>
  /** Records a successful contact; `took`: durations of reading the server's lists. */
  recordSuccess(server: string, took?: DiscoveryTimings): void
  /** Forgets servers that are not in the catalog. */
  prune(catalog: Catalog): void
}

interface ReadResult {
  readonly timings?: DiscoveryTimings
}

export interface ContactFailure {
  readonly reason: FailureReason
  readonly message: string
  readonly status?: number | undefined
  readonly code?: string | undefined
  readonly program?: { readonly command: string } | undefined
}

/** Reasons that say nothing about the server's health: cancelled or limited by the gateway, or an oversized answer. */
const neutral: ReadonlySet<FailureReason> = new Set<FailureReason>(['cancelled', 'limited', 'overloaded', 'too_large'])

export function createHealthTracker({ stderr, onChange }: HealthTrackerOptions): HealthTracker {
  const states = new Map<string, ServerHealth>()
  const successTimes = new Map<string, number>()
  const readTimes = new Map<string, number>()
  const durations = new Map<string, DiscoveryTimings>()
  const running = new Map<string, number>()

  const set = (server: string, state: ServerHealth) => {
    states.set(server, state)
    onChange()
  }
  const recordSuccess = (server: string, took?: DiscoveryTimings) => {
    const now = Date.now()
    if (took) durations.set(server, took)
    successTimes.set(server, now)
    if (!states.get(server)?.isHealthy) set(server, { isHealthy: true, since: now })
  }
  const recordFailure = (server: string, { reason, message: error, status, code, program }: ContactFailure) => {
    if (neutral.has(reason)) return
    const before = states.get(server)
    if (before?.reason === reason && before.error === error) return
    const lines = lastLines(stderr(server))
    const line = bestLine(lines)
    const explanation = explain({ reason, message: error, status, code, command: program?.command, stderr: lines })
    const since = before && !before.isHealthy ? before.since : Date.now()
    set(server, {
      isHealthy: false,
      since,
      reason,
      error,
      ...(line === '' ? {} : { stderr: line }),
      ...(explanation && { explanation })
    })
  }
  const count = (server: string, by: 1 | -1) => {
    const now = (running.get(server) ?? 0) + by
    if (now > 0) running.set(server, now)
    else running.delete(server)
    if (!states.get(server)?.isHealthy) onChange()
  }

  return {
    observer: {
      onCall({ server, outcome }) {
        if (server !== undefined && (outcome === 'ok' || outcome === 'task' || outcome === 'tool_error'))
          recordSuccess(server)
      },
      onConnectionFailure: (server, reason, message) => recordFailure(server, { reason, message })
    },
    async track(server, work, failureOf) {
      count(server, 1)
      try {
        const result = await work()
        recordSuccess(server, result.timings)
        readTimes.set(server, Date.now())
        return result
      } catch (error) {
        const failure = failureOf(error)
        if (failure) recordFailure(server, failure)
        throw error
      } finally {
        count(server, -1)
      }
    },
    recordSuccess,
    get: (server) => states.get(server),
    readingTimes: (server) => durations.get(server),
    isConnecting: (server) => running.has(server) && !states.get(server)?.isHealthy,
    lastReadAt: (server) => readTimes.get(server),
    lastSuccessAt: (server) => successTimes.get(server),
    prune(catalog) {
      for (const map of [states, successTimes, readTimes, durations]) {
        for (const server of map.keys()) if (!catalog.server(server)) map.delete(server)
      }
    }
  }
}
