/** Longest part of a name that is compared */
const MAX_NAME = 128

/** Calls `visit` with each pair of neighbouring letters as one number, edges included. */
function eachPair(name: string, visit: (pair: number) => void): void {
  const text = ` ${name.slice(0, MAX_NAME).toLowerCase()} `
  for (let i = 1; i < text.length; i++) visit(text.charCodeAt(i - 1) * 65_536 + text.charCodeAt(i))
}

/** Returns a function that tells which share of the pairs of letters a name has in common, from 0 to 1. */
function likenessTo(name: string): (other: string) => number {
  const places = new Map<number, number>()
  const counts: number[] = []
  let length = 0
  eachPair(name, (pair) => {
    const place = places.get(pair) ?? places.size
    places.set(pair, place)
    counts[place] = (counts[place] ?? 0) + 1
    length++
  })
  const all = Uint8Array.from(counts)
  const left = new Uint8Array(all.length)
  return (other) => {
    left.set(all)
    let common = 0
    let count = 0
    eachPair(other, (pair) => {
      count++
      const place = places.get(pair)
      if (place === undefined || left[place] === 0) return
      left[place]!--
      common++
    })
    return (2 * common) / (length + count)
  }
}

/**
 * Returns the `count` names that are written most like a name, the most similar first; the name itself comes before
 * others that have the same pairs of letters. Linear in their lengths.
 */
export function nearestNames(name: string, names: Iterable<string>, count = 3): string[] {
  const likeness = likenessTo(name)
  const best: { readonly name: string; readonly score: number }[] = []
  for (const each of names) {
    const score = each === name ? Infinity : likeness(each)
    if (best.length === count && score <= best.at(-1)!.score) continue
    const at = best.findIndex((known) => known.score < score)
    best.splice(at < 0 ? best.length : at, 0, { name: each, score })
    if (best.length > count) best.pop()
  }
  return best.map((each) => each.name)
}
