import { withoutHidden } from './hidden-characters.ts'
import { clipped } from './text.ts'

/** Line ends of Unicode: each begins a new line somewhere. */
const lineEnd = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/

/** Text from outside as lines without hidden characters. */
export const linesOf = (text: string): string[] => text.split(lineEnd).map(withoutHidden)

/** Text from outside as a block quote: no line of it can be taken for text of the document that it stands in. */
export const quoted = (text: string): string =>
  linesOf(text)
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')

/** UTF-16 units of a question that a person can be shown. */
const MAX_QUESTION = 262_144

/**
 * Text from outside with the name of its server before the first line, and before each line that begins as a label does.
 * Blank lines in a row become one, so that none pushes the label out of view.
 */
export function labelledText(text: string, server: string): string {
  const lines = linesOf(clipped(text, MAX_QUESTION)).filter(
    (line, at, all) => line.trim() !== '' || (at > 0 && all[at - 1]!.trim() !== '')
  )
  const [first = '', ...rest] = lines
  const labelled = rest.map((line) => (/^[\s\p{P}]*[[［【]/u.test(line) ? `[${server}] ${line}` : line))
  return [`[${server}] ${first}`, ...labelled].join('\n')
}
