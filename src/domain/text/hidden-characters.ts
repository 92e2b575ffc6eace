/** Visible text, or a label for one hidden character */
export type Segment = { readonly text: string } | { readonly mark: string }

/**
 * Characters that are invisible or change the reading order: controls except tab and line ends, format characters (bidi
 * controls, zero width, the tags U+E0000–E007F), line and paragraph separators, lone surrogates, invisible fillers, and
 * variation selectors.
 */
const hiddenCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

const visibleControls = new Set(['\t', '\n', '\r'])

/** U+200D joins pictographs to one emoji and U+FE0F selects the emoji form: both have a visible effect there. */
const picture = /\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?$/u
const sign = /\p{Emoji}$/u

function isVisible(text: string, at: number, character: string): boolean {
  if (visibleControls.has(character)) return true
  const before = text.slice(Math.max(0, at - 4), at)
  if (character === '\ufe0f') return sign.test(before)
  return (
    character === '\u200d' && picture.test(before) && /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3))
  )
}

const code = (character: string) => `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

/** Replaces the hidden characters of untrusted text by labels such as `U+200B`, keeping the order. */
export function markHidden(text: string): Segment[] {
  const segments: Segment[] = []
  let from = 0
  for (const { 0: character, index } of text.matchAll(hiddenCharacters)) {
    if (isVisible(text, index, character)) continue
    if (index > from) segments.push({ text: text.slice(from, index) })
    segments.push({ mark: code(character) })
    from = index + character.length
  }
  if (from < text.length) segments.push({ text: text.slice(from) })
  return segments
}

/** Removes the hidden characters of untrusted text. */
export const withoutHidden = (text: string): string =>
  markHidden(text)
    .map((segment) => ('text' in segment ? segment.text : ''))
    .join('')

/** Returns true if the text contains hidden characters. */
export const hasHidden = (text: string): boolean => markHidden(text).some((segment) => 'mark' in segment)

/** Returns untrusted text with its hidden characters as labels such as `[U+200B]`. */
export const markedText = (text: string): string =>
  markHidden(text)
    .map((segment) => ('text' in segment ? segment.text : `[${segment.mark}]`))
    .join('')
