import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { StoredApproval } from '../../registry/approvals.ts'

/** Tells a webhook of new requests for approval (approvals.md). Its answers decide nothing. */
export interface ApprovalWebhook {
  /** Sends in the background; never throws. `shown`: arguments with secrets masked. */
  tell(approval: StoredApproval, shown: unknown): void
  close(): void
}

export interface ApprovalWebhookOptions {
  readonly url: string
  /** Key of the signature. */
  readonly secret: string
  /** Public URL of the gateway. */
  readonly publicUrl: string | undefined
  /** `fetch` within the egress policy, bounded in bytes and time. */
  readonly request: (url: string, init: RequestInit) => Promise<Response>
  readonly log: { warn(details: object, text: string): void }
  /** Milliseconds before each try. */
  readonly triesMs?: readonly number[]
}

/** Three tries within 30 s, each of which may take some seconds. */
const TRIES_MS = [0, 4_000, 9_000]
/** Messages on their way: an approver who is not told can still look. */
const MAX_SENDING = 100

export function createApprovalWebhook(options: ApprovalWebhookOptions): ApprovalWebhook {
  const { url, secret, publicUrl, request, log, triesMs = TRIES_MS } = options
  const stopping = new AbortController()
  const { signal } = stopping
  let sending = 0
  const post = async (body: string) => {
    const timestamp = new Date().toISOString()
    const signature = createHmac('sha256', secret).update(body).digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-towpath-timestamp': timestamp,
      'x-towpath-signature': `sha256=${signature}`
    }
    const { status } = await request(url, { method: 'POST', headers, body, signal })
    if (status >= 300) throw new Error(`the webhook answered ${status}`)
  }
  const send = async (id: string, body: string) => {
    let failure: unknown
    for (const ms of triesMs) {
      try {
        await delay(ms, undefined, { signal, ref: false })
        return await post(body)
      } catch (error) {
        if (signal.aborted) return
        failure = error
      }
    }
    log.warn({ approval: id, err: failure }, 'the webhook was not told of a request for approval')
  }
  return {
    tell(approval, shown) {
      const { id, rule, caller, server, item, at, expiresAt } = approval
      if (sending >= MAX_SENDING) return log.warn({ approval: id }, 'too many messages to the webhook are on their way')
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
      sending++
      void send(id, JSON.stringify({ ...message, ...address })).finally(() => sending--)
    },
    close: () => stopping.abort()
  }
}
