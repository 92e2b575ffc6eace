/** What a call may wait for before it is with its server, in their order. */
export const stages = ['queue', 'start', 'initialize'] as const
export type Stage = (typeof stages)[number]

/** Who a connection is made for, for log lines. */
export interface StartedBy {
  readonly caller: { readonly key: string }
  readonly requestId: string | undefined
}

/**
 * What making a connection took, as `performance.now()` times; 0: that did not happen, or not yet. A class, since sessions
 * that serve one call have one for each.
 */
export class Opening {
  /** A place for a process is waited for. */
  queuedAt = 0
  /** A process is started, or an event stream opened. */
  startedAt = 0
  /** The server is greeted. */
  greetedAt = 0
  openAt = 0
  /** What its process had written to stderr when it failed, without secrets. */
  stderr = ''
  /** The call that it is made for; null: the gateway's own need. */
  by: StartedBy | null = null
}

/** Milliseconds that a call waited in each stage, where that happened. */
export type Waits = { readonly [stage in Stage]?: number }

/** The part of an opening that a call waited for, from `since` to `until`. */
export function waitsOf({ queuedAt, startedAt, greetedAt, openAt }: Opening, since: number, until: number): Waits {
  const begins = [queuedAt, startedAt, greetedAt, openAt === 0 ? until : openAt]
  const waits: Partial<Record<Stage, number>> = {}
  for (const [at, stage] of stages.entries()) {
    const begin = begins[at]!
    if (begin === 0) continue
    const end = begins.slice(at + 1).find((next) => next > 0)!
    const ms = Math.min(end, until) - Math.max(begin, since)
    if (ms > 0 || end > since) waits[stage] = Math.max(0, ms)
  }
  return waits
}

/** Where an opening is, or ended; undefined once it is open. */
export const stageOf = ({ queuedAt, startedAt, greetedAt, openAt }: Opening): Stage | undefined => {
  if (openAt > 0) return undefined
  return greetedAt > 0 ? 'initialize' : startedAt > 0 ? 'start' : queuedAt > 0 ? 'queue' : undefined
}
