const isAllowed = (piece: string, reserved: boolean) => reserved || !/[/?#]/.test(piece)

/** Parts of a template: literal text and, between, whether the expression may hold reserved characters (RFC 6570). */
function parts(template: string): { literals: string[]; reserved: boolean[] } | undefined {
  const literals: string[] = []
  const reserved: boolean[] = []
  let at = 0
  for (;;) {
    const open = template.indexOf('{', at)
    if (open < 0) {
      literals.push(template.slice(at))
      return { literals, reserved }
    }
    const close = template.indexOf('}', open)
    if (close < 0) return undefined
    literals.push(template.slice(at, open))
    reserved.push('+#/?&;.'.includes(template[open + 1] ?? ''))
    at = close + 1
  }
}

/**
 * Whether a URI can be an expansion of a URI template. Linear, without regular expressions made from the template (a
 * template comes from an upstream): each expression takes the shortest text up to the next literal.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  const parsed = parts(template)
  if (!parsed) return false
  const { literals, reserved } = parsed
  if (!uri.startsWith(literals[0]!)) return false
  let at = literals[0]!.length
  for (let i = 1; i < literals.length; i++) {
    const literal = literals[i]!
    const isLast = i === literals.length - 1
    const next = isLast ? uri.length - literal.length : uri.indexOf(literal, at)
    if (next < at || !uri.startsWith(literal, next)) return false
    if (!isAllowed(uri.slice(at, next), reserved[i - 1]!)) return false
    at = next + literal.length
  }
  return at === uri.length
}
