/** Returns true if an expression with this operator (RFC 6570; empty for none) can expand to the text. */
function canExpand(operator: string, piece: string): boolean {
  if (operator === '') return !/[/?#]/.test(piece)
  return operator === '+' || piece === '' || piece.startsWith(operator)
}

/**
 * Maximum number of expressions; templates with more match nothing, since each costs a search and a server may list
 * thousands of templates
 */
const MAX_EXPRESSIONS = 32

/** Splits a template into its literals and the operators of the expressions between them. */
function splitTemplate(template: string): { literals: string[]; operators: string[] } | undefined {
  const literals: string[] = []
  const operators: string[] = []
  let at = 0
  for (;;) {
    const open = template.indexOf('{', at)
    if (open < 0) {
      literals.push(template.slice(at))
      return { literals, operators }
    }
    const close = template.indexOf('}', open)
    if (close < 0 || operators.length === MAX_EXPRESSIONS) return undefined
    literals.push(template.slice(at, open))
    const first = template[open + 1]!
    // `{path*}` is the notation of FastMCP and its derivatives for several path segments.
    const isExploded = template[close - 1] === '*'
    operators.push('+#/?&;.'.includes(first) ? first : isExploded ? '+' : '')
    at = close + 1
  }
}

/**
 * Returns true if a URI can be an expansion of a URI template. Linear, and without regular expressions made from a
 * template, which comes from an upstream: each expression matches the shortest text up to the next literal.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  const first = template.indexOf('{')
  if (first >= 0 && !uri.startsWith(template.slice(0, first))) return false
  const parsed = splitTemplate(template)
  if (!parsed) return false
  const { literals, operators } = parsed
  if (!uri.startsWith(literals[0]!)) return false
  let at = literals[0]!.length
  for (let i = 1; i < literals.length; i++) {
    const literal = literals[i]!
    const isLast = i === literals.length - 1
    const next = isLast ? uri.length - literal.length : uri.indexOf(literal, at)
    if (next < at || !uri.startsWith(literal, next)) return false
    if (!canExpand(operators[i - 1]!, uri.slice(at, next))) return false
    at = next + literal.length
  }
  return at === uri.length
}
