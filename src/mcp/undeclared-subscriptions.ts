import type { Verdict } from '../registry/model/model.ts'
import { errorCode } from '../upstream/era-bridge.ts'
import { hasMethod, noteMethod } from '../catalog/undeclared-methods.ts'
import type { Answer } from '../upstream/transport/call.ts'
import { codes } from '../protocol/jsonrpc.ts'

/** Returns true if a legacy server without declared subscriptions may still be asked for one. */
export const mayTrySubscribing = (verdict: Verdict | null): verdict is Verdict =>
  typeof verdict?.legacy === 'string' && hasMethod(verdict, 'resources/subscribe') !== false

/** Records the answer of such a server; returns false if it does not implement subscriptions. */
export function recordSubscribeAnswer(verdict: Verdict, answer: Answer): boolean {
  const has = answer.kind === 'result' || errorCode(answer) !== codes.methodNotFound
  noteMethod(verdict, 'resources/subscribe', has)
  return has
}
