import type { DefinitionPolicy } from '../domain/definitions/kinds.ts'
import { instructionsIn } from '../domain/definitions/canonical.ts'
import type { ItemKind, StoredDefinition, StoredItem, StoredServer } from '../registry/model/model.ts'

/** A stored item as it is served. */
export interface ServedItem extends StoredItem {
  /** The item with its present definition, if `definition` is the accepted one instead. */
  readonly present?: StoredItem
}

/** An item that is not served because nobody has accepted its definition. */
export interface HeldItem {
  readonly kind: ItemKind
  readonly name: string
  readonly enabled: false
  /** ISO time of the last change of its definition. */
  readonly since: string
}

/** Parts of a server that are served under its policy for definitions (pinned-definitions.md#policies). */
export interface ServedDefinitions {
  /** The server with the definitions that are served; the same object if these are the present ones. */
  readonly stored: StoredServer
  readonly held: readonly HeldItem[]
  /** Null if it has none, or if they are held and no accepted ones are known. */
  readonly instructions: string | null
}

/** Returns the definition to serve: the present one, the accepted one, or null for none. */
function servedText(policy: DefinitionPolicy, { state, definition, accepted }: StoredDefinition): string | null {
  if (policy === 'follow' || state === 'accepted') return definition
  return policy === 'pin' ? accepted : null
}

function servedItem(policy: DefinitionPolicy, item: StoredItem): ServedItem | HeldItem {
  const text = servedText(policy, item)
  if (text === item.definition) return item
  if (text !== null) return { ...item, definition: text, present: item }
  return { kind: item.kind, name: item.name, enabled: false, since: item.changedAt }
}

/** Returns the policy for the definitions of a server. */
export const definitionPolicyOf = (
  { settings }: Pick<StoredServer, 'settings'>,
  byDefault: DefinitionPolicy
): DefinitionPolicy => settings.definitions ?? byDefault

/** Applies a server's policy for definitions. `byDefault`: policy of servers that have none of their own. */
export function withServedDefinitions(stored: StoredServer, byDefault: DefinitionPolicy): ServedDefinitions {
  const policy = definitionPolicyOf(stored, byDefault)
  const own = stored.instructions
  const instructionsText = own === null ? null : servedText(policy, own)
  const instructions =
    own === null
      ? (stored.negotiation?.instructions ?? null)
      : instructionsText === null
        ? null
        : instructionsIn(instructionsText)
  const all = stored.items.map((item) => servedItem(policy, item))
  if (all.every((item, i) => item === stored.items[i])) return { stored, held: [], instructions }
  const items = all.filter((item) => 'definition' in item)
  return { stored: { ...stored, items }, held: all.filter((item) => 'since' in item), instructions }
}
