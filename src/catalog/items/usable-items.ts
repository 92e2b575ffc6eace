import type { ItemKind, StoredItem, StoredServer } from '../../registry/model/model.ts'
import { definitionProblem } from './definition.ts'
import { shapeProblem } from './item-shape.ts'
import type { Problem } from './left-out.ts'
import { withoutLoneSurrogates } from '../../json/surrogates.ts'

/** A stored item that is neither listed nor callable. */
export interface UnusableItem {
  readonly kind: ItemKind
  readonly name: string
  readonly problem: Problem
}

/** A server with only those items whose definitions are valid text in the shape that MCP requires. */
export interface UsableServer {
  readonly stored: StoredServer
  /** Items that were removed from `stored`. */
  readonly unusable: readonly UnusableItem[]
}

/** Returns the item with a definition that is valid for clients, or its problem. */
function usableItem(item: StoredItem): StoredItem | UnusableItem {
  const { kind, name } = item
  const problem = definitionProblem(item.definition) ?? shapeProblem(kind, item.definition)
  if (problem !== undefined) return { kind, name, problem }
  const definition = withoutLoneSurrogates(item.definition)
  // an unreadable accepted definition still has to differ from the present one
  const accepted = item.accepted === null || definitionProblem(item.accepted) === undefined ? item.accepted : '{}'
  return definition === item.definition && accepted === item.accepted ? item : { ...item, definition, accepted }
}

/** Result for an item whose check failed with an unexpected error. */
const unreadable = ({ kind, name }: StoredItem): UnusableItem => ({
  kind,
  name,
  problem: { code: 'malformed', reason: 'the gateway cannot read it' }
})

function checkItem(item: StoredItem): StoredItem | UnusableItem {
  try {
    return usableItem(item)
  } catch {
    return unreadable(item)
  }
}

/** Outcomes of the checks of items: of a server that changes, most items stay as they are. */
export type CheckedItems = WeakMap<StoredItem, StoredItem | UnusableItem>

/**
 * Returns the server without its unusable items: version 0.1 stored definitions unchecked. `stored` is the same object
 * if all items are usable. Reuses the outcomes in `known`, and adds to it.
 */
export function withUsableItems(stored: StoredServer, known: CheckedItems = new WeakMap()): UsableServer {
  const checked = stored.items.map((item) => {
    const before = known.get(item)
    if (before) return before
    const result = checkItem(item)
    known.set(item, result)
    return result
  })
  if (checked.every((item, i) => item === stored.items[i])) return { stored, unusable: [] }
  const items = checked.filter((item) => 'definition' in item)
  return { stored: { ...stored, items }, unusable: checked.filter((item) => 'problem' in item) }
}
