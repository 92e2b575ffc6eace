import { formatChallenge } from '../domain/access/challenge.ts'
import { allowedByDefault } from '../domain/policy/permit.ts'
import { resourceOf, type ResourceTarget } from '../catalog/resource-resolution.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import { refuse } from './method.ts'
import type { PolicyDenial, PolicyGate } from './policy-gate.ts'
import type { RequestContext } from './sessions/request-context.ts'

/**
 * Returns the challenge for a program that can ask its user for more scopes; undefined if that does not help (MCP
 * authorization, Runtime Insufficient Scope Errors).
 */
export function stepUp(context: RequestContext, denial: PolicyDenial): ProtocolError | undefined {
  const { challenge, reason, policy, decision } = denial
  if (challenge === undefined) return undefined
  const { scope, metadata } = challenge
  const error = 'insufficient_scope'
  return new ProtocolError(codes.invalidParams, reason, {
    status: 403,
    id: context.message.id,
    data: { policy, decision, error, scope, resource_metadata: metadata },
    challenge: formatChallenge({ error, description: `the policy ${policy} requires these scopes`, scope, metadata })
  })
}

/** Returns the error of a request whose result has no member for errors. */
export const refuseByPolicy = (context: RequestContext, denial: PolicyDenial): ProtocolError => {
  const { reason, policy, decision } = denial
  return stepUp(context, denial) ?? refuse(context, reason, { policy, decision })
}

function denialOf(context: RequestContext, policies: PolicyGate, { server, uri }: ResourceTarget) {
  const { scope } = context
  const decision = scope.decideUri(server, uri)
  if (decision === allowedByDefault) return undefined
  return policies.denialOf(context, resourceOf(scope.catalog, server.name, uri), decision, undefined)
}

/** Returns false if a policy refuses to subscribe to a resource. */
export const isAllowed = (context: RequestContext, policies: PolicyGate, target: ResourceTarget): boolean =>
  denialOf(context, policies, target) === undefined

/** Throws ProtocolError if a policy refuses to read a resource or to subscribe to it. */
export function checkResource(context: RequestContext, policies: PolicyGate, target: ResourceTarget): void {
  const denial = denialOf(context, policies, target)
  if (denial) throw refuseByPolicy(context, denial)
}
