import { readKey, skipString } from './json.ts'

/**
 * Returns true if some object in valid JSON text names a member twice, at any depth. `fold` maps keys that a reader
 * could confuse to the same text.
 */
export function hasDuplicateMembers(text: string, fold: (key: string) => string): boolean {
  /** Keys of the open objects; null for an open array. */
  const open: (Set<string> | null)[] = []
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '{') open.push(new Set())
    else if (character === '[') open.push(null)
    else if (character === '}' || character === ']') open.pop()
    if (character !== '"') continue
    const end = skipString(text, at)
    const keys = open.at(-1)
    if (keys && isKey(text, end)) {
      const key = fold(readKey(text, at, end))
      if (keys.has(key)) return true
      keys.add(key)
    }
    at = end - 1
  }
  return false
}

/** Returns true if the string that ends here is followed by a colon. */
function isKey(text: string, end: number): boolean {
  let at = end
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++
  return text[at] === ':'
}
