import type { Verdict } from '../../registry/model.ts'
import { errorCode } from '../bridge.ts'
import { hasMethod, noteMethod } from '../tried-methods.ts'
import type { Answer } from '../upstream/call.ts'
import { codes } from './jsonrpc.ts'

/** A server that does not declare subscriptions may take them all the same, on the legacy wire. */
export const mayTrySubscribing = (verdict: Verdict | null): verdict is Verdict =>
  typeof verdict?.legacy === 'string' && hasMethod(verdict, 'resources/subscribe') !== false

/** Notes what such a server answered; false: it has no subscriptions. */
export function recordSubscribeAnswer(verdict: Verdict, answer: Answer): boolean {
  const has = answer.kind === 'result' || errorCode(answer) !== codes.methodNotFound
  noteMethod(verdict, 'resources/subscribe', has)
  return has
}
