/** A map bounded in bytes that evicts the least recently used entries. */
export interface LruCache<T> {
  get(key: string): T | undefined
  /** Stores an entry of `size` bytes. An entry larger than the whole cache is not stored. */
  set(key: string, value: T, size: number): void
  delete(key: string): void
  /** Sum of the sizes of all entries. */
  readonly bytes: number
}

export function createLruCache<T>(maxBytes: number): LruCache<T> {
  // least recently used first
  const entries = new Map<string, { readonly value: T; readonly size: number }>()
  let bytes = 0

  const drop = (key: string) => {
    bytes -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }
  return {
    get(key) {
      const entry = entries.get(key)
      if (!entry) return undefined
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    set(key, value, size) {
      drop(key)
      if (size > maxBytes) return
      entries.set(key, { value, size })
      bytes += size
      for (const oldest of entries.keys()) {
        if (bytes <= maxBytes) break
        drop(oldest)
      }
    },
    delete: drop,
    get bytes() {
      return bytes
    }
  }
}
