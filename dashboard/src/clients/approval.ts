import { COMMAND_LINE_CLIENT } from '../../../src/domain/product.ts'
import type { Program } from './connections.ts'

/** State of a program's approval, in words. */
export interface ApprovalState {
  readonly tone: 'ok' | 'warn' | 'off'
  readonly word: string
  /** Sentence with the meaning of the state. */
  readonly help: string
}

/** `isAsked`: an administrator has to approve programs that register themselves (`TOWPATH_OAUTH_DCR=approve`). */
export function approvalOf({ id, registered }: Pick<Program, 'id' | 'registered'>, isAsked: boolean): ApprovalState {
  if (id === COMMAND_LINE_CLIENT)
    return { tone: 'ok', word: 'No approval needed', help: 'It is the command line of this gateway.' }
  if (registered === undefined)
    return id.startsWith('https://')
      ? { tone: 'ok', word: 'No approval needed', help: 'The owner of the address in its id vouches for it.' }
      : { tone: 'off', word: 'Not registered here', help: 'It got its access in another way.' }
  if (!isAsked) return { tone: 'ok', word: 'No approval needed', help: 'People can let it in.' }
  return registered.approved
    ? { tone: 'ok', word: 'Approved', help: 'People can let it in.' }
    : { tone: 'warn', word: 'Waits for approval', help: 'Nobody can let it in before an administrator approves it.' }
}
