import { wordsOf } from '../tools/filter.ts'

export interface Command {
  readonly label: string
  /** Kind shown beside the label: `Page`, `Server`, `Tool`, `Action`. */
  readonly kind: string
  readonly href?: string
  readonly run?: () => void
}

/** Returns how well a word is contained in a text: 0 at its start, 1 at the start of a word, 2 elsewhere. */
function rankWord(text: string, word: string): number | undefined {
  const at = text.indexOf(word)
  if (at <= 0) return at === 0 ? 0 : undefined
  return /[^a-z0-9]/.test(text[at - 1]!) ? 1 : 2
}

/** Returns true if all letters occur in order, with gaps: `cri` in `create_issue`. */
function hasLetters(text: string, letters: string): boolean {
  let from = 0
  for (const letter of letters) {
    from = text.indexOf(letter, from) + 1
    if (from === 0) return false
  }
  return true
}

/**
 * Returns how well a label matches the typed words, which may be in any order: lower is better, undefined for no match.
 */
function rank(label: string, words: readonly string[]): number | undefined {
  const text = label.toLowerCase()
  const whole = rankWord(text, words.join(' '))
  if (whole !== undefined) return whole
  const ranks = words.map((word) => rankWord(text, word))
  if (ranks.every((each) => each !== undefined)) return Math.max(...ranks)
  return hasLetters(text, words.join('')) ? 3 : undefined
}

/** Returns the `limit` best commands for the typed text, best first, ties in their given order. */
export function findCommands(commands: readonly Command[], typed: string, limit: number): Command[] {
  const words = wordsOf(typed)
  if (words.length === 0) return commands.slice(0, limit)
  return commands
    .flatMap((command) => {
      const fit = rank(command.label, words)
      return fit === undefined ? [] : [{ command, fit }]
    })
    .toSorted((a, b) => a.fit - b.fit)
    .slice(0, limit)
    .map(({ command }) => command)
}
