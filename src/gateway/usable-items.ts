import type { ItemKind, StoredItem, StoredServer } from '../registry/model.ts'
import { definitionProblem } from './definition.ts'
import { shapeProblem } from './item-shape.ts'
import type { Problem } from './left-out.ts'
import { withoutLoneSurrogates } from './surrogates.ts'

/** A stored item that no list shows and no call reaches. */
export interface UnusableItem {
  readonly kind: ItemKind
  readonly name: string
  readonly problem: Problem
}

/** A server whose items all hold text that may go to clients, in the shape that MCP demands. */
export interface UsableServer {
  readonly stored: StoredServer
  /** The other items. */
  readonly unusable: readonly UnusableItem[]
}

/** The item with text that may go to clients, or why there is none. */
function usableItem(item: StoredItem): StoredItem | UnusableItem {
  const { kind, name } = item
  const problem = definitionProblem(item.definition) ?? shapeProblem(kind, item.definition)
  if (problem !== undefined) return { kind, name, problem }
  const definition = withoutLoneSurrogates(item.definition)
  // an accepted text that cannot be shown still differs from the present one
  const accepted = item.accepted === null || definitionProblem(item.accepted) === undefined ? item.accepted : '{}'
  return definition === item.definition && accepted === item.accepted ? item : { ...item, definition, accepted }
}

/** For an item that is left out because of an error in the gateway. */
const unreadable = ({ kind, name }: StoredItem): UnusableItem => ({
  kind,
  name,
  problem: { code: 'malformed', reason: 'the gateway cannot read it' }
})

/**
 * The server without the items that cannot be used: version 0.1 stored definitions that nobody had checked. The same object
 * where all can.
 */
export function withUsableItems(stored: StoredServer): UsableServer {
  const checked = stored.items.map((item) => {
    try {
      return usableItem(item)
    } catch {
      return unreadable(item)
    }
  })
  if (checked.every((item, i) => item === stored.items[i])) return { stored, unusable: [] }
  const items = checked.filter((item) => 'definition' in item)
  return { stored: { ...stored, items }, unusable: checked.filter((item) => 'problem' in item) }
}
