import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { toRule } from '../../control/policies.ts'
import {
  EffectiveItem,
  EffectiveQuery,
  PolicyCheck,
  PolicyDecision,
  PolicyInput,
  PolicyTrial
} from '../../schemas/policy.ts'
import { errorResponses, ref } from '../../schemas/shared.ts'

const tags = ['policies']
const config = { access: 'admin' } as const
const reading = { access: 'auditor' } as const

/** Routes that check and try policies without storing them (policies.md). */
export const policyTrials: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/policies/validate',
    {
      config,
      schema: {
        tags,
        operationId: 'validatePolicy',
        summary: 'Check a policy without storing it',
        body: ref(PolicyInput),
        response: { 200: ref(PolicyCheck) }
      }
    },
    async (request) => {
      const problems = await app.gateway.policies.problemsOf(toRule(request.body.name, request.body))
      return { valid: problems.length === 0, problems }
    }
  )

  app.get(
    '/policies/effective',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'listEffectiveItems',
        summary: 'List the items of an endpoint with the decisions for a caller',
        querystring: EffectiveQuery,
        response: { 200: Type.Array(ref(EffectiveItem)), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.policies.effective(request.query)
  )

  app.post(
    '/policies/simulate',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'simulatePolicies',
        summary: 'Decide on a call without making it, and tell why',
        body: ref(PolicyTrial),
        response: { 200: ref(PolicyDecision), ...errorResponses(404) }
      }
    },
    ({ body }) => app.gateway.policies.simulate({ ...body, with: body.with?.map((rule) => toRule(rule.name, rule)) })
  )
}
