import { spellFingerprint } from '../../domain/definitions/canonical.ts'
import { escapeText } from '../../domain/text/text.ts'
import type { Hold } from '../../registry/repositories/context.ts'
import type { Webhook } from '../webhook.ts'

/** Tells a webhook of definitions that are held since now. */
export interface DefinitionNotice {
  tell(hold: Hold): void
  close(): void
}

export interface DefinitionNoticeOptions {
  /** Public URL of the gateway. */
  readonly publicUrl: string | undefined
  /** Milliseconds in which a server causes one message at most, so that one that changes all the time fills no inbox. */
  readonly everyMs?: number
}

const EVERY_MS = 60_000
const MAX_ITEMS = 200
const MAX_NAME = 300

/** Definitions held since the last message about a server, by kind and name */
type Gathered = Map<string, { readonly fingerprint: string; readonly pinned: string | undefined }>

/** Returns the items of a message. Names come from servers: they are escaped and cut. */
const itemsOf = (gathered: Gathered) =>
  [...gathered].slice(0, MAX_ITEMS).map(([key, { fingerprint, pinned }]) => {
    const at = key.indexOf(' ')
    return {
      kind: key.slice(0, at),
      name: escapeText(key.slice(at + 1), MAX_NAME),
      state: pinned === undefined ? 'new' : 'changed',
      fingerprint: spellFingerprint(fingerprint),
      ...(pinned === undefined ? {} : { pinned_fingerprint: spellFingerprint(pinned) })
    }
  })

/**
 * Creates the notice of held definitions (pinned-definitions.md#be-told). Each server causes at most one message a
 * minute, without texts of the server other than names.
 */
export function createDefinitionNotice(
  webhook: Pick<Webhook, 'post'>,
  { publicUrl, everyMs = EVERY_MS }: DefinitionNoticeOptions
): DefinitionNotice {
  const waiting = new Map<string, { readonly timer: NodeJS.Timeout; readonly gathered: Gathered }>()
  const address = publicUrl === undefined ? {} : { url: `${publicUrl}/api/v0/definitions?state=held` }
  const send = (server: string, gathered: Gathered) => {
    const at = new Date().toISOString()
    webhook.post(
      { event: 'definitions.held', at, server, count: gathered.size, items: itemsOf(gathered), ...address },
      { server }
    )
    const timer = setTimeout(() => {
      const later = waiting.get(server)!.gathered
      waiting.delete(server)
      if (later.size > 0) send(server, later)
    }, everyMs)
    timer.unref()
    waiting.set(server, { timer, gathered: new Map() })
  }
  return {
    tell({ server, before, after }) {
      const known = waiting.get(server)
      const gathered: Gathered = known?.gathered ?? new Map()
      for (const [key, fingerprint] of Object.entries(after)) gathered.set(key, { fingerprint, pinned: before[key] })
      if (!known) send(server, gathered)
    },
    close() {
      for (const { timer } of waiting.values()) clearTimeout(timer)
    }
  }
}
