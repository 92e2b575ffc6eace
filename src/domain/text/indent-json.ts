const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gs

/** Indents JSON text without white space. No value is parsed, so that numbers and escapes stay as they are. */
export function indentJson(json: string): string {
  const tokens = json.match(token) ?? []
  const lines: string[] = []
  let line = ''
  let depth = 0
  const flush = () => {
    if (line !== '') lines.push(line)
    line = '  '.repeat(depth)
  }
  for (const [at, each] of tokens.entries()) {
    const isEmpty = tokens[at + 1] === '}' || tokens[at + 1] === ']'
    if ((each === '{' || each === '[') && !isEmpty) {
      line += each
      depth++
      flush()
    } else if ((each === '}' || each === ']') && tokens[at - 1] !== '{' && tokens[at - 1] !== '[') {
      depth = Math.max(0, depth - 1)
      flush()
      line += each
    } else if (each === ',') {
      line += each
      flush()
    } else line += each === ':' ? ': ' : each
  }
  if (line !== '') lines.push(line)
  return lines.join('\n')
}
