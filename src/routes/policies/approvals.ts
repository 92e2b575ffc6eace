import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../../plugins/auth.ts'
import { Approval, ApprovalDecisionInput, ApprovalFilter } from '../../schemas/policy.ts'
import { errorResponses, ref, Text } from '../../schemas/shared.ts'

const tags = ['approvals']
const params = Type.Object({ id: Text({ minLength: 1 }) })

type App = Parameters<FastifyPluginAsyncTypebox>[0]

/** Routes of calls that may run only after a yes (approvals.md). */
export const approvals: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/approvals',
    {
      config: { access: 'user' },
      schema: {
        tags,
        operationId: 'listApprovals',
        summary: 'List calls that wait for a decision, or that somebody decided on',
        description:
          'The newest first. Administrators and auditors see all, others those of their own calls and those on which they may decide.',
        querystring: ApprovalFilter,
        response: { 200: Type.Array(ref(Approval)) }
      }
    },
    (request) => {
      const { status, limit = 100 } = request.query
      return app.gateway.approvals.list(callerOf(request), { status, limit })
    }
  )

  app.get(
    '/approvals/:id',
    {
      config: { access: 'user' },
      schema: {
        tags,
        operationId: 'getApproval',
        summary: 'Get a call that waits for a decision',
        params,
        response: { 200: ref(Approval), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.approvals.get(callerOf(request), request.params.id)
  )
  addDecision(app, 'approve', 'Approve a call', 'The same call then runs when it is repeated, or at once if it waits.')
  addDecision(app, 'deny', 'Deny a call', 'The caller reads the reason.')
}

function addDecision(app: App, verb: 'approve' | 'deny', summary: string, effect: string): void {
  app.post(
    `/approvals/:id/${verb}`,
    {
      config: { access: 'self' },
      schema: {
        tags,
        operationId: `${verb}Call`,
        summary,
        description: `${effect} For administrators and the approvers of the policy, with an access token without scopes or a browser session, and never with the token that made the call.`,
        params,
        body: ref(ApprovalDecisionInput),
        response: { 200: ref(Approval), ...errorResponses(403, 404, 409) }
      }
    },
    (request) => app.gateway.approvals.decide(callerOf(request), request.params.id, verb === 'approve', request.body)
  )
}
