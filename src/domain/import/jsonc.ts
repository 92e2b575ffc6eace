import { parseTree, type Node, type ParseError } from 'jsonc-parser'

const lineAt = (text: string, offset: number) => text.slice(0, offset).split('\n').length

/** Converts a syntax tree, since the parser's own conversion would treat a key `__proto__` as the prototype. */
function toValue({ type, value, children = [] }: Node): unknown {
  if (type === 'array') return children.map(toValue)
  if (type !== 'object') return value as unknown
  return Object.fromEntries(children.map(({ children: pair }) => [pair![0]!.value as string, toValue(pair![1]!)]))
}

/**
 * Parses JSON with comments and trailing commas. Throws a SyntaxError that names the line, but does not quote it, and a
 * RangeError if the text is nested too deeply.
 */
export function parseJsonc(text: string): unknown {
  const errors: ParseError[] = []
  const tree = parseTree(text.replace(/^\ufeff/, ''), errors, { allowTrailingComma: true })
  const at = errors[0]?.offset ?? 0
  if (errors.length > 0 || !tree) throw new SyntaxError(`it is not valid JSON (line ${lineAt(text, at)})`)
  return toValue(tree)
}
