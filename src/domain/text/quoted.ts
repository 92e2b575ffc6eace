import { withoutHidden } from './hidden-characters.ts'
import { truncate } from './text.ts'

/** Unicode line ends, each of which some renderer treats as a new line */
const lineEnd = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/

/** Splits untrusted text into lines and removes hidden characters. */
const toVisibleLines = (text: string): string[] => text.split(lineEnd).map(withoutHidden)

/** Formats untrusted text as a block quote, so that none of its lines can pass for text of the surrounding document. */
export const toBlockQuote = (text: string): string =>
  toVisibleLines(text)
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')

/** Maximum length of a question shown to the user, in UTF-16 units */
const MAX_QUESTION = 262_144

/**
 * Prefixes untrusted text with the name of its server, and again every line that looks like such a prefix. Merges blank
 * lines, so that they cannot push the prefix out of view.
 */
export function labelText(text: string, server: string): string {
  const lines = toVisibleLines(truncate(text, MAX_QUESTION)).filter(
    (line, at, all) => line.trim() !== '' || (at > 0 && all[at - 1]!.trim() !== '')
  )
  const [first = '', ...rest] = lines
  const labelled = rest.map((line) => (/^[\s\p{P}]*[[［【]/u.test(line) ? `[${server}] ${line}` : line))
  return [`[${server}] ${first}`, ...labelled].join('\n')
}
