import type { Negotiation } from '../../registry/model/model.ts'
import { errorCode } from '../../upstream/era-bridge.ts'
import { hasMethod, noteMethod } from '../../catalog/undeclared-methods.ts'
import type { Answer } from '../../upstream/transport/call.ts'
import { codes } from '../../protocol/jsonrpc.ts'

/** Returns true if a legacy server without declared subscriptions may still be asked for one. */
export const mayTrySubscribing = (negotiation: Negotiation | null): negotiation is Negotiation =>
  typeof negotiation?.legacy === 'string' && hasMethod(negotiation, 'resources/subscribe') !== false

/** Records the answer of such a server; returns false if it does not implement subscriptions. */
export function recordSubscribeAnswer(negotiation: Negotiation, answer: Answer): boolean {
  const has = answer.kind === 'result' || errorCode(answer) !== codes.methodNotFound
  noteMethod(negotiation, 'resources/subscribe', has)
  return has
}
