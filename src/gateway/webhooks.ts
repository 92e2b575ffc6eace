import type { WebhookTarget } from '../config/config.ts'
import { createDefinitionNotice } from '../control/definitions/notice.ts'
import { createWebhook, type Webhook } from '../control/webhook.ts'
import type { GatewayOptions } from './base.ts'
import type { UpstreamSide } from './upstream-side.ts'

/** Answers of the webhook are not read. */
const WEBHOOK_ANSWER_BYTES = 65_536
/** Three tries with their pauses take less than 30 s. */
const WEBHOOK_TRY_MS = 5_000

/** Creates the webhook of these settings; undefined if there are none. */
export function webhookOf(
  target: WebhookTarget | undefined,
  { log }: Pick<GatewayOptions, 'log'>,
  { fetchFor }: Pick<UpstreamSide['connections'], 'fetchFor'>
): Webhook | undefined {
  if (!target) return undefined
  return createWebhook({ ...target, request: fetchFor(target.url, WEBHOOK_ANSWER_BYTES, WEBHOOK_TRY_MS), log })
}

/** Tells the webhook of definitions that this process has held; undefined without a webhook. */
export function tellOfDefinitions(options: GatewayOptions, { connections }: UpstreamSide) {
  const { definitionsWebhook, publicUrl } = options.config
  const webhook = webhookOf(definitionsWebhook, options, connections)
  if (!webhook) return undefined
  const notice = createDefinitionNotice(webhook, { publicUrl })
  options.registry.definitionHolds.onHeld = notice.tell
  return {
    close() {
      notice.close()
      webhook.close()
    }
  }
}
