import { createHash } from 'node:crypto'
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

/** Definitions that a message counts: a server that renames its items with each reading must not fill the memory. */
const MAX_COUNTED = 10_000

/** Fingerprints of a held definition */
interface HeldFingerprints {
  readonly fingerprint: string
  readonly pinned: string | undefined
}

/** Definitions held since the last message about a server */
interface Gathered {
  /** Those that the message names, by kind and name */
  readonly named: Map<string, HeldFingerprints>
  /** Digests of the kinds and names of those that it only counts */
  readonly others: Set<string>
}

const nothingYet = (): Gathered => ({ named: new Map(), others: new Set() })
const countOf = ({ named, others }: Gathered) => named.size + others.size

/** Adds a definition, or replaces the earlier one of its kind and name. */
function gather(gathered: Gathered, key: string, fingerprints: HeldFingerprints): void {
  const { named, others } = gathered
  if (named.size < MAX_ITEMS || named.has(key)) named.set(key, fingerprints)
  else if (countOf(gathered) < MAX_COUNTED) others.add(createHash('sha256').update(key).digest('base64'))
}

/** Returns the items of a message. Names come from servers: they are escaped and cut. */
const itemsOf = ({ named }: Gathered) =>
  [...named].map(([key, { fingerprint, pinned }]) => {
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
      { event: 'definitions.held', at, server, count: countOf(gathered), items: itemsOf(gathered), ...address },
      { server }
    )
    const timer = setTimeout(() => {
      const later = waiting.get(server)!.gathered
      waiting.delete(server)
      if (countOf(later) > 0) send(server, later)
    }, everyMs)
    timer.unref()
    waiting.set(server, { timer, gathered: nothingYet() })
  }
  return {
    tell({ server, before, after }) {
      const known = waiting.get(server)
      const gathered = known?.gathered ?? nothingYet()
      for (const [key, fingerprint] of Object.entries(after))
        gather(gathered, key, { fingerprint, pinned: before[key] })
      if (!known) send(server, gathered)
    },
    close() {
      for (const { timer } of waiting.values()) clearTimeout(timer)
    }
  }
}
