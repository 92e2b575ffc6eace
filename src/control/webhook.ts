import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

/** Address of the operator to which events are posted. Its answers decide nothing. */
export interface Webhook {
  /** Sends a message in the background; never throws. `about`: members that name it in the log. */
  post(message: object, about: object): void
  /** Ends the messages that are on their way. */
  close(): void
}

export interface WebhookOptions {
  readonly url: string
  /** Key of the signature. */
  readonly secret: string
  /** `fetch` within the egress policy, bounded in bytes and time. */
  readonly request: (url: string, init: RequestInit) => Promise<Response>
  readonly log: { warn(details: object, text: string): void }
  /** Milliseconds before each try. */
  readonly triesMs?: readonly number[]
}

/** Three tries within 30 s, each of which may take some seconds. */
const TRIES_MS = [0, 4_000, 9_000]
/** Messages on their way: whoever is not told can still look. */
const MAX_SENDING = 100

/** Creates the sender of messages that are signed with HMAC-SHA256 (approvals.md#tell-the-approvers). */
export function createWebhook({ url, secret, request, log, triesMs = TRIES_MS }: WebhookOptions): Webhook {
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
  const send = async (body: string, about: object) => {
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
    log.warn({ ...about, err: failure }, 'a message did not reach the webhook')
  }
  return {
    post(message, about) {
      if (sending >= MAX_SENDING) return log.warn(about, 'too many messages to the webhook are on their way')
      sending++
      void send(JSON.stringify(message), about).finally(() => sending--)
    },
    close: () => stopping.abort()
  }
}
