/** States of a request for approval. `consumed`: its calls were made. */
export const approvalStatuses = ['pending', 'approved', 'denied', 'expired', 'consumed'] as const
export type ApprovalStatus = (typeof approvalStatuses)[number]

/** Limits of requests for approval of a gateway. */
export const APPROVAL_LIMITS = {
  /** Pending requests. */
  pending: 1_000,
  pendingPerCaller: 20,
  /** Bytes of the arguments of a call, in UTF-8. */
  argumentBytes: 262_144
} as const
