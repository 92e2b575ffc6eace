/** An event with typed arguments. Listeners are called in the order in which they subscribed. */
export interface Signal<Args extends readonly unknown[]> {
  /** Calls the listeners. Throws what a listener throws. */
  emit(...args: Args): void
  subscribe(listener: (...args: Args) => void): void
}

export function createSignal<Args extends readonly unknown[]>(): Signal<Args> {
  const listeners: ((...args: Args) => void)[] = []
  return {
    emit(...args) {
      for (const listener of listeners) listener(...args)
    },
    subscribe(listener) {
      listeners.push(listener)
    }
  }
}
