export interface Token {
  readonly text: string
  /** `k`: a key; `s`: a string value; undefined: other text. */
  readonly kind: 'k' | 's' | undefined
}

const string = /("(?:[^"\\]|\\.)*")(\s*:)?/g

/** Splits JSON text into tokens to colour; joined, the tokens equal the input. */
export function highlight(json: string): Token[] {
  const tokens: Token[] = []
  let from = 0
  for (const { 0: whole, 1: text = '', 2: colon, index } of json.matchAll(string)) {
    if (index > from) tokens.push({ text: json.slice(from, index), kind: undefined })
    tokens.push({ text, kind: colon === undefined ? 's' : 'k' })
    if (colon !== undefined) tokens.push({ text: colon, kind: undefined })
    from = index + whole.length
  }
  if (from < json.length) tokens.push({ text: json.slice(from), kind: undefined })
  return tokens
}
