import { AppError } from '../errors.ts'
import type { AttemptEnd } from '../registry/model.ts'
import type { Registry } from '../registry/registry.ts'
import type { Caller } from './gateway.ts'
import type { Target } from './transports.ts'
import { UpstreamFailure } from './upstream/failure.ts'

/**
 * Contacting servers on somebody's behalf, with a row of the audit log before and one after. Every way to an address or a
 * command that a request names goes through here; calls of registered servers have the call log.
 */
export interface Attempts {
  /** Rejects with a 503 AppError, before `contact` runs, where the first row cannot be written. */
  run<T>(caller: Caller, purpose: Purpose, target: Target, contact: (target: Target) => Promise<T>): Promise<T>
}

/** The action that a server is contacted for. */
export type Purpose =
  | 'server.create'
  | 'server.force'
  | 'server.replace'
  | 'server.refresh'
  | 'server.test'
  | 'server.dry_run'
  | 'upstream_oauth.begin'
  | 'upstream_oauth.complete'

function failureOf(error: unknown): UpstreamFailure | undefined {
  if (error instanceof UpstreamFailure) return error
  return error instanceof AppError && error.cause instanceof UpstreamFailure ? error.cause : undefined
}

/** Class and words of a failure, as the caller is told them. */
function attemptEnd(error: unknown): Omit<AttemptEnd, 'durationMs'> {
  const { reason: failure } = failureOf(error) ?? {}
  if (failure !== undefined) {
    const outcome = failure === 'denied' ? 'refused' : 'failed'
    return { outcome, failure, reason: (error as Error).message }
  }
  if (!(error instanceof AppError)) return { outcome: 'failed', failure: 'internal', reason: 'internal error' }
  return { outcome: 'failed', failure: error.code ?? `status_${error.statusCode}`, reason: error.message }
}

export const createAttempts = (registry: Pick<Registry, 'beginAttempt'>): Attempts => ({
  async run(caller, purpose, target, contact) {
    const { kind, name, address, requestId } = caller
    const end = await registry.beginAttempt({
      ...{ actor: { kind, name }, target: target.name, address, requestId, purpose },
      launch: { transport: target.transport, ...target.settings, ...target.secrets }
    })
    const startedAt = performance.now()
    try {
      const result = await contact({ ...target, by: { caller, requestId } })
      await end({ outcome: 'ok', durationMs: performance.now() - startedAt })
      return result
    } catch (error) {
      await end({ ...attemptEnd(error), durationMs: performance.now() - startedAt })
      throw error
    }
  }
})
