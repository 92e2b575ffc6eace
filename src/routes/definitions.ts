import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { readFingerprint } from '../domain/definitions/canonical.ts'
import { callerOf } from '../plugins/auth.ts'
import { DefinitionDecision, DefinitionPage, DefinitionQuery, Lock } from '../schemas/definition.ts'
import { errorResponses, ref } from '../schemas/shared.ts'

const tags = ['definitions']
const config = { access: 'admin' } as const
const reading = { access: 'auditor' } as const

const seenIn = ({ items }: DefinitionDecision) =>
  items.map((item) => ({ ...item, fingerprint: readFingerprint(item.fingerprint) }))

/** Routes of the review of definitions (pinned-definitions.md). */
export const definitions: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/definitions',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listDefinitions',
        summary: 'List definitions and what has changed in them',
        description: 'Pages have at most 100 entries.',
        querystring: DefinitionQuery,
        response: { 200: ref(DefinitionPage), ...errorResponses(400, 404) }
      }
    },
    (request) => app.gateway.definitions.list(request.query)
  )

  app.get(
    '/definitions/lock',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'getDefinitionLock',
        summary: 'Get the fingerprints of all accepted definitions',
        response: { 200: ref(Lock) }
      }
    },
    () => app.gateway.definitions.lock()
  )

  for (const [decision, operationId, summary] of [
    ['accept', 'acceptDefinitions', 'Accept definitions'],
    ['reject', 'rejectDefinitions', 'Reject definitions until they change again']
  ] as const) {
    app.post(
      `/definitions/${decision}`,
      {
        config,
        schema: {
          tags,
          operationId,
          summary,
          description: 'All or none: if a fingerprint is not that of the present definition, nothing is stored.',
          body: ref(DefinitionDecision),
          response: { 204: Type.Null(), ...errorResponses(400, 404, 409, 503) }
        }
      },
      async (request, reply) => {
        await app.gateway.definitions[decision](callerOf(request), seenIn(request.body))
        return reply.code(204).send(null)
      }
    )
  }
}
