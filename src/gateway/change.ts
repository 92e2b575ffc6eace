import type { Change } from '../registry/model.ts'
import type { Caller } from './gateway.ts'

/** Where a request came from, as far as it is known. */
type RequestOrigin = Pick<Change, 'address' | 'requestId' | 'tokenHash'>

/** What a caller is about to change, for the audit log. */
export const auditChange = (
  caller: Pick<Caller, 'kind' | 'name'> & RequestOrigin,
  action: string,
  target: string
): Change => ({
  actor: { kind: caller.kind, name: caller.name },
  action,
  target,
  address: caller.address,
  requestId: caller.requestId,
  tokenHash: caller.tokenHash
})
