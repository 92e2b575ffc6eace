import type { Approval } from '../../../src/schemas/policy.ts'
import type { Tone } from '../ui/icons.tsx'
import { untrustedText } from '../ui/untrusted-text.tsx'

/** How each status of a request is shown. */
export const statuses: Readonly<Record<Approval['status'], { readonly tone: Tone; readonly word: string }>> = {
  pending: { tone: 'warn', word: 'Waiting' },
  approved: { tone: 'ok', word: 'Approved' },
  consumed: { tone: 'ok', word: 'Used' },
  denied: { tone: 'err', word: 'Denied' },
  expired: { tone: 'off', word: 'Expired' }
}

/** Returns the name of the tool at the endpoint of all servers. */
export const toolOf = ({ server, tool }: Approval): string => `${server}__${tool}`

/** Returns who makes the call. */
export const callerOf = ({ caller, caller_kind: kind }: Approval): string =>
  kind === 'development' ? 'Development mode' : untrustedText(caller)
