/** Byte range: inclusive start, exclusive end */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Search for any of several byte strings */
export interface ByteSearch {
  /**
   * Returns the first occurrence within the range, null if there is none. Of several at the same offset, the longest
   * wins.
   */
  find(bytes: Uint8Array, start?: number, end?: number): ByteRange | null
}

const SMALLEST_TABLE = 1_024
const LARGEST_TABLE = 65_536

/** Returns a power of two with room for eight times as many byte pairs as the patterns have. */
function tableSize(pairs: number): number {
  let size = SMALLEST_TABLE
  while (size < LARGEST_TABLE && size < 8 * pairs) size *= 2
  return size
}

/** Matching prefix of a pattern that is too long to be a coincidence, in bytes */
const MIN_PREFIX_MATCH = 32
/** Failed comparisons that one search may spend: a fixed number, and more for each byte passed */
const FREE_COMPARISONS = 1_024
const COMPARISONS_PER_BYTE = 16

/** Returns the number of bytes from `start` that match the pattern. */
function commonPrefixLength(pattern: Uint8Array, bytes: Uint8Array, start: number, end: number): number {
  const most = Math.min(pattern.length, end - start)
  let i = 0
  while (i < most && bytes[start + i] === pattern[i]) i++
  return i
}

/**
 * Searches for all patterns in one pass (S. Wu, U. Manber: A fast algorithm for multi-pattern searching, 1994).
 * Compares one pair of bytes and skips up to the length of the shortest pattern, so that the time hardly depends on the
 * number of patterns. Patterns have two bytes or more; without patterns nothing is found. If the input repeats long
 * prefixes of a pattern on purpose, such a prefix counts as a match, so that the time stays proportional to the length
 * of the input.
 */
export function createByteSearch(patterns: readonly Uint8Array[]): ByteSearch {
  if (patterns.length === 0) return { find: () => null }
  const shortest = Math.min(...patterns.map(({ length }) => length))
  const size = tableSize(patterns.length * (shortest - 1))
  const mask = size - 1
  const slot = (first: number, second: number) => ((first << 6) ^ second) & mask
  const shifts = new Uint8Array(size).fill(Math.min(shortest - 1, 255))
  const patternsByLastPair = new Map<number, Uint8Array[]>()
  for (const pattern of patterns.toSorted((a, b) => b.length - a.length)) {
    for (let at = 1; at < shortest; at++) {
      const pair = slot(pattern[at - 1]!, pattern[at]!)
      shifts[pair] = Math.min(shifts[pair]!, shortest - 1 - at)
    }
    const last = slot(pattern[shortest - 2]!, pattern[shortest - 1]!)
    patternsByLastPair.set(last, [...(patternsByLastPair.get(last) ?? []), pattern])
  }

  return {
    find(bytes, start = 0, end = bytes.length) {
      let at = start + shortest - 1
      let comparisons = 0
      while (at < end) {
        const pair = ((bytes[at - 1]! << 6) ^ bytes[at]!) & mask
        const shift = shifts[pair]!
        if (shift > 0) {
          at += shift
          continue
        }
        const first = at - shortest + 1
        let most = 0
        for (const pattern of patternsByLastPair.get(pair)!) {
          const length = commonPrefixLength(pattern, bytes, first, end)
          if (length === pattern.length) return { start: first, end: first + length }
          comparisons += length
          if (length > most) most = length
        }
        const isCostly = comparisons > FREE_COMPARISONS + COMPARISONS_PER_BYTE * (at - start)
        if (isCostly && most >= MIN_PREFIX_MATCH) return { start: first, end: first + most }
        at++
      }
      return null
    }
  }
}
