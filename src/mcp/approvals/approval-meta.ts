import type { StoredApproval } from '../../registry/approvals.ts'

/** Returns the member of `_meta` that describes a request for approval, as JSON text without braces. */
export const approvalMeta = ({ id, status, expiresAt }: StoredApproval): string =>
  `"towpath/approval":${JSON.stringify({ id, status, expiresAt: expiresAt.toISOString() })}`
