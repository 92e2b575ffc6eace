import fp from 'fastify-plugin'
import type { FastifyError, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { UpstreamFailure } from '../gateway/upstream/failure.ts'
import { ifThere } from './late.ts'

/** Not who they must be, not allowed, too often. */
const refusals = new Set([401, 403, 429])

/** Our own settings forbade to connect there, or to start that, whoever asked. */
const isForbidden = ({ cause }: Error) => cause instanceof UpstreamFailure && cause.reason === 'denied'

/** The route as it is written, so that one is one target. An unknown path may hold anything, keys too. */
const targetOf = ({ method, routeOptions }: FastifyRequest) => `${method} ${routeOptions.url ?? '(no such route)'}`

/**
 * Every refusal that HTTP tells leaves a row in the audit log (security-model.md#audit); what was refused has been by
 * then.
 */
export default fp(
  async (app) => {
    app.addHook('onError', (request, _reply, error: FastifyError | AppError, done) => {
      done()
      const denied = isForbidden(error)
      if (!refusals.has(error.statusCode ?? 500) && !denied) return
      const { caller, address, id } = request
      ifThere(() => app.registry.recordRefusal)?.({
        actor: caller ? { kind: caller.kind, name: caller.name } : { kind: 'anonymous', name: 'anonymous' },
        action: denied ? 'upstream.refused' : 'request.refused',
        target: targetOf(request),
        reason: error.message,
        address,
        requestId: id
      })
    })
  },
  { name: 'audit', dependencies: ['gateway'] }
)
