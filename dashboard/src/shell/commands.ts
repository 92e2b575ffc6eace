export interface Command {
  readonly label: string
  /** Kind shown beside the label: `Page`, `Server`, `Tool`, `Action`. */
  readonly kind: string
  readonly href?: string
  readonly run?: () => void
}

/** Returns how well a label matches the typed text: lower is better, undefined for no match. */
function rank(label: string, typed: string): number | undefined {
  const text = label.toLowerCase()
  const at = text.indexOf(typed)
  if (at === 0) return 0
  if (at > 0) return /[^a-z0-9]/.test(text[at - 1]!) ? 1 : 2
  // letters in order with gaps: `cri` finds `create_issue`
  let from = 0
  for (const letter of typed) {
    from = text.indexOf(letter, from) + 1
    if (from === 0) return undefined
  }
  return 3
}

/** Returns the `limit` best commands for the typed text, best first, ties in their given order. */
export function findCommands(commands: readonly Command[], typed: string, limit: number): Command[] {
  const wanted = typed.trim().toLowerCase()
  if (wanted === '') return commands.slice(0, limit)
  return commands
    .flatMap((command) => {
      const fit = rank(command.label, wanted)
      return fit === undefined ? [] : [{ command, fit }]
    })
    .toSorted((a, b) => a.fit - b.fit)
    .slice(0, limit)
    .map(({ command }) => command)
}
