import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import { members } from '../../json/json.ts'
import { invalid } from '../../lib/errors.ts'
import { bodyTextOf } from '../../plugins/json-body.ts'
import { toRule } from '../../domain/policy/input.ts'
import {
  EffectiveItem,
  EffectiveQuery,
  PolicyCheck,
  PolicyDecision,
  PolicyInput,
  PolicyReplay,
  PolicyReplayResult,
  PolicyTrial
} from '../../schemas/policy.ts'
import { errorResponses, ref } from '../../schemas/shared.ts'

const tags = ['policies']
const config = { access: 'admin' } as const
const reading = { access: 'auditor' } as const

const rulesOf = (inputs: readonly Static<typeof PolicyInput>[] | undefined) =>
  inputs?.map((rule) => toRule(rule.name, rule))

/** Returns the arguments in the body of a trial as they were written: parsed, they would lose what a call is refused for. */
function argumentsIn(text: string): { readonly args?: string } {
  const given = members(text).filter(({ key }) => key === 'args')
  if (given.length > 1) throw invalid('"args" is given more than once')
  return given.length === 0 ? {} : { args: text.slice(given[0]!.start, given[0]!.end) }
}

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
    (request) => {
      const { args: _parsed, ...trial } = request.body
      const args = argumentsIn(bodyTextOf(request))
      return app.gateway.policies.simulate({ ...trial, ...args, with: rulesOf(trial.with) })
    }
  )

  // not for auditors: conditions on the recorded arguments would tell their contents
  app.post(
    '/policies/replay',
    {
      config,
      schema: {
        tags,
        operationId: 'replayPolicies',
        summary: 'Decide on logged calls as if they were repeated after a change of the policies',
        description:
          'Lists the calls that would newly be denied or allowed, and stores nothing. Examines the newest 100,000 calls of the time at most, for at most 10 seconds; one replay runs at a time on each replica.',
        body: ref(PolicyReplay),
        response: { 200: ref(PolicyReplayResult), ...errorResponses(404, 429) }
      }
    },
    ({ body }) => app.gateway.policies.replay({ ...body, with: rulesOf(body.with) })
  )
}
