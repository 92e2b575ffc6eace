import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { toRule } from '../../domain/policy/input.ts'
import { invalid } from '../../lib/errors.ts'
import { callerOf } from '../../plugins/auth.ts'
import { Policy, PolicyInput, PolicyQuery, PolicyReplacement } from '../../schemas/policy.ts'
import { errorResponses, NameParam, ref } from '../../schemas/shared.ts'
import { policyTrials } from './trials.ts'

const tags = ['policies']
const params = NameParam
const config = { access: 'admin' } as const
const reading = { access: 'auditor' } as const

/** Routes of policies (policies.md). */
export const policies: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(policyTrials)

  app.get(
    '/policies',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listPolicies',
        summary: 'List policies',
        querystring: PolicyQuery,
        response: { 200: Type.Array(ref(Policy)) }
      }
    },
    ({ query }) => (query.include === undefined ? app.gateway.policies.list() : app.gateway.policies.listCounted())
  )

  app.get(
    '/policies/:name',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'getPolicy',
        summary: 'Get a policy',
        params,
        querystring: PolicyQuery,
        response: { 200: ref(Policy), ...errorResponses(404) }
      }
    },
    ({ params: { name }, query }) =>
      query.include === undefined ? app.gateway.policies.get(name) : app.gateway.policies.getCounted(name)
  )

  app.post(
    '/policies',
    {
      config,
      schema: {
        tags,
        operationId: 'createPolicy',
        summary: 'Create a policy',
        description: 'Takes effect at once, on open streams and running calls too.',
        body: ref(PolicyInput),
        response: { 201: ref(Policy), ...errorResponses(409) }
      }
    },
    async (request, reply) => {
      const rule = toRule(request.body.name, request.body)
      return reply.code(201).send(await app.gateway.policies.create(callerOf(request), rule))
    }
  )

  app.put(
    '/policies/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'replacePolicy',
        summary: 'Replace a policy',
        params,
        body: ref(PolicyReplacement),
        response: { 200: ref(Policy), ...errorResponses(404, 409) }
      }
    },
    async (request) => {
      const { body } = request
      const { name } = request.params
      if (body.name !== undefined && body.name !== name) throw invalid('"name" must equal the name in the path')
      return app.gateway.policies.replace(callerOf(request), toRule(name, body))
    }
  )

  app.delete(
    '/policies/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'deletePolicy',
        summary: 'Remove a policy',
        params,
        response: { 204: Type.Null(), ...errorResponses(404, 409) }
      }
    },
    async (request, reply) => {
      await app.gateway.policies.remove(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
