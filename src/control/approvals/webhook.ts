import type { StoredApproval } from '../../registry/approvals.ts'
import type { Webhook } from '../webhook.ts'

/**
 * Returns the function that tells a webhook of new requests for approval (approvals.md). `shown`: arguments with secrets
 * masked. `publicUrl`: that of the gateway.
 */
export const createApprovalNotice =
  (webhook: Pick<Webhook, 'post'>, publicUrl: string | undefined) =>
  ({ id, rule, caller, server, item, at, expiresAt }: StoredApproval, shown: unknown): void => {
    const message = {
      id,
      at: at.toISOString(),
      rule,
      caller,
      server,
      tool: item,
      arguments: shown,
      expires_at: expiresAt.toISOString()
    }
    const address = publicUrl === undefined ? {} : { url: `${publicUrl}/api/v0/approvals/${id}` }
    webhook.post({ ...message, ...address }, { approval: id })
  }
