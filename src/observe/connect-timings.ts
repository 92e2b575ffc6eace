/** Stages of connecting that a call may wait for, in order. */
const connectStages = ['queue', 'start', 'initialize'] as const
export type ConnectStage = (typeof connectStages)[number]

/** Caller for whom a connection is opened, for log lines. */
export interface ConnectRequester {
  readonly caller: { readonly key: string }
  readonly requestId: string | undefined
}

/**
 * Start times of the stages of one connect, from `performance.now()`; 0: not reached or skipped. A class, since
 * sessions for a single call create one each.
 */
export class ConnectTimings {
  /** Start of waiting for a process slot. */
  queuedAt = 0
  /** Start of the process, or of opening the event stream. */
  startedAt = 0
  /** Start of the handshake. */
  initializeAt = 0
  openedAt = 0
  /** Resolves when nothing is left of the process; null until it was started. */
  ended: Promise<void> | null = null
  /** Output of the process on stderr when it failed, secrets redacted. */
  stderr = ''
  /** The caller; null if the gateway connects for itself. */
  requester: ConnectRequester | null = null
}

/** Milliseconds that a call waited in each stage that it went through. */
export type StageWaits = { readonly [stage in ConnectStage]?: number }

/** Returns the waits of a call from `since` to `until`. */
export function computeWaits(
  { queuedAt, startedAt, initializeAt, openedAt }: ConnectTimings,
  since: number,
  until: number
): StageWaits {
  const begins = [queuedAt, startedAt, initializeAt, openedAt === 0 ? until : openedAt]
  const waits: Partial<Record<ConnectStage, number>> = {}
  for (const [at, stage] of connectStages.entries()) {
    const begin = begins[at]!
    if (begin === 0) continue
    const end = begins.slice(at + 1).find((next) => next > 0)!
    const ms = Math.min(end, until) - Math.max(begin, since)
    if (ms > 0 || end > since) waits[stage] = Math.max(0, ms)
  }
  return waits
}

/** Returns the current or last stage; undefined once the connection is open. */
export const stageOf = ({ queuedAt, startedAt, initializeAt, openedAt }: ConnectTimings): ConnectStage | undefined => {
  if (openedAt > 0) return undefined
  return initializeAt > 0 ? 'initialize' : startedAt > 0 ? 'start' : queuedAt > 0 ? 'queue' : undefined
}
