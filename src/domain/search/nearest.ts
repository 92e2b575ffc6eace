/** Longest part of a name that is compared */
const MAX_NAME = 128

function pairsOf(name: string): Map<string, number> {
  const text = ` ${name.slice(0, MAX_NAME).toLowerCase()} `
  const pairs = new Map<string, number>()
  for (let i = 1; i < text.length; i++) {
    const pair = text.slice(i - 1, i + 1)
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1)
  }
  return pairs
}

/** Share of the pairs of letters that two names have in common, from 0 to 1. */
function likeness(pairs: ReadonlyMap<string, number>, length: number, name: string): number {
  let common = 0
  let count = 0
  for (const [pair, times] of pairsOf(name)) {
    common += Math.min(times, pairs.get(pair) ?? 0)
    count += times
  }
  return (2 * common) / (length + count)
}

/** Returns the `count` names that are written most like a name, the most similar first. Linear in their lengths. */
export function nearestNames(name: string, names: Iterable<string>, count = 3): string[] {
  const pairs = pairsOf(name)
  const length = Math.min(name.length, MAX_NAME) + 1
  const best: { readonly name: string; readonly score: number }[] = []
  for (const each of names) {
    const score = likeness(pairs, length, each)
    if (best.length === count && score <= best.at(-1)!.score) continue
    const at = best.findIndex((known) => known.score < score)
    best.splice(at < 0 ? best.length : at, 0, { name: each, score })
    if (best.length > count) best.pop()
  }
  return best.map((each) => each.name)
}
