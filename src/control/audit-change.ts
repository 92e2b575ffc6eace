import type { Change } from '../registry/model/model.ts'
import type { Caller } from '../catalog/caller.ts'

/** Client address, request id, and token hash or sign-in of a request, as far as known. */
type RequestOrigin = Pick<Change, 'address' | 'requestId' | 'tokenHash' | 'signIn'>

/** Describes a change by `caller` for the audit log. */
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
  tokenHash: caller.tokenHash,
  signIn: caller.signIn
})
