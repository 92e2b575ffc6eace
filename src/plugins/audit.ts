import fp from 'fastify-plugin'
import type { FastifyError, FastifyRequest } from 'fastify'
import { ENTERPRISE_MODE_ONLY } from '../domain/error-codes.ts'
import { AppError } from '../lib/errors.ts'
import { UpstreamFailure } from '../protocol/upstream-failure.ts'
import { ifAvailable } from '../http/wait-for-database.ts'

/** Unauthenticated, forbidden, rate-limited. */
const refusalStatuses = new Set([401, 403, 429])

/** True if the gateway's settings deny the connection or command, for any caller. */
const isForbidden = ({ cause }: Error) => cause instanceof UpstreamFailure && cause.reason === 'denied'

/**
 * Audit target: method and route pattern, so that each route is one target. Unknown paths are not recorded: they may
 * contain secrets.
 */
const targetOf = ({ method, routeOptions }: FastifyRequest) => `${method} ${routeOptions.url ?? '(no such route)'}`

/** True for the question with which each visit of the console begins, before anybody has signed in. */
const isFirstQuestion = ({ routeOptions, headers }: FastifyRequest) =>
  routeOptions.url === '/api/console/session' && headers.authorization === undefined && headers.cookie === undefined

/** Records every refusal that is sent over HTTP in the audit log (security-model.md#audit). */
export default fp(
  async (app) => {
    app.addHook('onError', (request, _reply, error: FastifyError | AppError, done) => {
      done()
      const denied = isForbidden(error)
      if (!refusalStatuses.has(error.statusCode ?? 500) && !denied) return
      // development mode refuses nobody: the route belongs to the other mode
      if (error.code === ENTERPRISE_MODE_ONLY || isFirstQuestion(request)) return
      const { caller, address, id } = request
      ifAvailable(() => app.registry.recordRefusal)?.({
        actor: caller ? { kind: caller.kind, name: caller.name } : { kind: 'anonymous', name: 'anonymous' },
        action: denied ? 'upstream.refused' : 'request.refused',
        target: targetOf(request),
        reason: error.message,
        address,
        requestId: id
      })
    })
  },
  { name: 'audit', dependencies: ['registry'] }
)
