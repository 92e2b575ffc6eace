import { LRUCache } from 'lru-cache'

const MAX_ENTRIES = 64
const MAX_CHARACTERS = 4_096

/**
 * Memoizes `read` for the 64 most recently used texts of at most 4,096 characters: clients repeat the same `_meta`
 * with each request. Results are shared and must not be mutated.
 */
export function memoize<T extends {}>(read: (text: string) => T): (text: string) => T {
  const results = new LRUCache<string, T>({ max: MAX_ENTRIES })
  return (text) => {
    const known = results.get(text)
    if (known !== undefined) return known
    const result = read(text)
    if (text.length > MAX_CHARACTERS) return result
    // copied, because a slice keeps the whole string in memory
    results.set(Buffer.from(text).toString(), result)
    return result
  }
}
