/** A map that holds what was used last, up to so many bytes. */
export interface LruCache<T> {
  get(key: string): T | undefined
  /** `size` in bytes. What is larger than everything that may be held is not kept. */
  set(key: string, value: T, size: number): void
  delete(key: string): void
  /** Bytes that are held. */
  readonly bytes: number
}

export function createLruCache<T>(maxBytes: number): LruCache<T> {
  // in order of last use
  const entries = new Map<string, { readonly value: T; readonly size: number }>()
  let held = 0

  const drop = (key: string) => {
    held -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }
  return {
    get(key) {
      const known = entries.get(key)
      if (!known) return undefined
      entries.delete(key)
      entries.set(key, known)
      return known.value
    },
    set(key, value, size) {
      drop(key)
      if (size > maxBytes) return
      entries.set(key, { value, size })
      held += size
      for (const oldest of entries.keys()) {
        if (held <= maxBytes) break
        drop(oldest)
      }
    },
    delete: drop,
    get bytes() {
      return held
    }
  }
}
