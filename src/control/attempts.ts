import { AppError } from '../lib/errors.ts'
import type { ContactResult } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import type { Target } from '../upstream/transports.ts'
import { administrators, messageOf, UpstreamFailure } from '../protocol/upstream-failure.ts'
import type { Caller } from '../catalog/caller.ts'

/**
 * Audited contacts with upstream servers: one audit row before and one after. Every request that names an address or a
 * command for the gateway to contact goes through here. Calls of registered servers are in the call log instead.
 */
export interface Attempts {
  /** Runs `contact` between two audit rows. Rejects with a 503 AppError, before `contact` runs, if the first fails. */
  run<T>(caller: Caller, purpose: Purpose, target: Target, contact: (target: Target) => Promise<T>): Promise<T>
}

/** Audit action that a server is contacted for. */
export type Purpose =
  | 'server.create'
  | 'server.force'
  | 'server.replace'
  | 'server.enable'
  | 'server.refresh'
  | 'server.test'
  | 'server.dry_run'
  | 'upstream_oauth.begin'
  | 'upstream_oauth.complete'

function failureOf(error: unknown): UpstreamFailure | undefined {
  if (error instanceof UpstreamFailure) return error
  return error instanceof AppError && error.cause instanceof UpstreamFailure ? error.cause : undefined
}

/** Returns the outcome, class and message of a failure for the second audit row, as in the answer to the caller. */
function attemptEnd(error: unknown): Omit<ContactResult, 'durationMs'> {
  const failure = failureOf(error)
  if (failure) {
    const outcome = failure.reason === 'denied' ? 'refused' : 'failed'
    const reason = error === failure ? messageOf(failure, administrators) : (error as AppError).message
    return { outcome, failure: failure.reason, reason }
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
      const result = await contact({ ...target, requester: { caller, requestId } })
      await end({ outcome: 'ok', durationMs: performance.now() - startedAt })
      return result
    } catch (error) {
      await end({ ...attemptEnd(error), durationMs: performance.now() - startedAt })
      throw error
    }
  }
})
