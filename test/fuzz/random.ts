/** Returns a generator of the same choices for the same seed (mulberry32). */
export function createRandom(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    /** True with this probability. */
    chance: (part: number) => next() < part,
    pick: <T>(list: readonly T[]): T => list[below(list.length)]!
  }
}

export type Random = ReturnType<typeof createRandom>
