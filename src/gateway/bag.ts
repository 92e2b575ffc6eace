/** Knows its place in the bag that holds it; -1 outside. */
export interface SlotItem {
  slot: number
}

/**
 * A set of what is under way: things come and go with each call, so that a `Set` would grow a new table every few dozen of
 * them. This allocates nothing.
 */
export interface SlotSet<T extends SlotItem> extends Iterable<T> {
  readonly size: number
  add(item: T): void
  /** Does nothing where the bag does not hold it. */
  delete(item: T): void
  /** The item with this slot, from 0 to below `size`. */
  at(slot: number): T | undefined
}

/** Order is arbitrary. What is being looked at may be deleted during iteration. */
export function createSlotSet<T extends SlotItem>(): SlotSet<T> {
  const items: T[] = []
  return {
    get size() {
      return items.length
    },
    add(item) {
      if (item.slot >= 0) return
      item.slot = items.length
      items.push(item)
    },
    delete(item) {
      if (items[item.slot] !== item) return
      const last = items.pop()!
      if (last !== item) {
        items[item.slot] = last
        last.slot = item.slot
      }
      item.slot = -1
    },
    at: (slot) => items[slot],
    *[Symbol.iterator]() {
      for (let i = items.length - 1; i >= 0; i--) {
        const item = items[i]
        if (item) yield item
      }
    }
  }
}
