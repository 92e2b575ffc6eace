/** Edit distance of two names: insertions, deletions, replacements and transpositions. */
function distance(a: string, b: string): number {
  let older: number[] = []
  let before = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = before[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(Math.min(replaced, before[j]! + 1, row[j - 1]! + 1, isSwap ? older[j - 2]! + 1 : Infinity))
    }
    older = before
    before = row
  }
  return before[b.length]!
}

const normal = (name: string) => name.toLowerCase().replaceAll('-', '_')

/** Returns the most similar name, or one whose tool part equals the input; undefined if none is similar. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const target = normal(typed).slice(0, 200)
  const most = Math.max(1, Math.floor(target.length / 3))
  const [best] = names
    .map((name) => ({ name, edits: distance(target, normal(name).slice(0, 200)) }))
    .toSorted((a, b) => a.edits - b.edits)
  if (best && best.edits <= most) return best.name
  return names.find((name) => normal(name).endsWith(`__${target}`))
}
