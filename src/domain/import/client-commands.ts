type Members = Readonly<Record<string, unknown>>

/** Server that a command adds to a client. */
export interface AddedServer {
  /** Undefined: part of `value`, or not given. */
  readonly name: string | undefined
  /** An entry as in the client's configuration, or JSON text of one. */
  readonly value: Members | string
}

const isAddress = (word: string) => /^https?:\/\//i.test(word)
const isAssignment = (word: string | undefined) => word !== undefined && /^[A-Za-z_]\w*=/.test(word)
const isHeader = (word: string | undefined) => word !== undefined && /^[\w-]+:\s*\S/.test(word) && !isAddress(word)

/** Options of `mcp add` with a value, by all their spellings. */
const options: Readonly<Record<string, string>> = {
  '-t': 'transport',
  '--transport': 'transport',
  '--type': 'transport',
  '-e': 'env',
  '--env': 'env',
  '-H': 'header',
  '--header': 'header',
  '--url': 'url',
  '--description': 'description',
  '--bearer-token-env-var': 'bearerVariable'
}
/** Options with a value that concern only the client. */
const otherOptions = new Set(['-s', '--scope', '--timeout', '--include-tools', '--exclude-tools', '--callback-port'])

/** Splits a list of `NAME=value`. */
export const assignmentsOf = (words: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    words.filter(isAssignment).map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)])
  )

const headersOf = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([^:]+):\s*(.*)$/s.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name.trim(), value]]
    })
  )

interface ParsedOptions {
  readonly values: ReadonlyMap<string, readonly string[]>
  readonly operands: readonly string[]
}

/** Parses the words after `mcp add`. What follows the command of the server belongs to that command. */
function parseOptions(words: readonly string[]): ParsedOptions {
  const values = new Map<string, string[]>()
  const operands: string[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word === '--') return { values, operands: [...operands, ...words.slice(at + 1)] }
    const isCommand = operands.length >= 2 && !isAddress(operands[1]!)
    const [, flag = word, attached] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? []
    const option = options[flag]
    if (isCommand || !word.startsWith('-')) operands.push(word)
    else if (option !== undefined) {
      const list = values.get(option) ?? []
      values.set(option, list)
      list.push(attached ?? words[++at] ?? '')
      const continues = option === 'env' ? isAssignment : option === 'header' ? isHeader : () => false
      while (attached === undefined && continues(words[at + 1])) list.push(words[++at]!)
    } else if (otherOptions.has(flag) && attached === undefined) at++
  }
  return { values, operands }
}

/** Reads `<client> mcp add NAME …`, as Claude Code, Codex and Gemini CLI have it. */
function readAdd(words: readonly string[]): AddedServer {
  const { values, operands } = parseOptions(words)
  const [name, target, ...args] = operands
  const last = (option: string) => values.get(option)?.at(-1)
  const url = last('url') ?? (target !== undefined && isAddress(target) ? target : undefined)
  const variable = last('bearerVariable')
  const headers = {
    ...headersOf(values.get('header') ?? []),
    ...(variable === undefined ? {} : { Authorization: `Bearer \${${variable}}` })
  }
  const common = { ...(last('description') !== undefined && { description: last('description') }) }
  const transport = last('transport')
  const type = transport === undefined ? {} : { type: transport }
  if (url !== undefined)
    return { name, value: { ...common, ...type, url, ...(Object.keys(headers).length > 0 && { headers }) } }
  const env = assignmentsOf(values.get('env') ?? [])
  return { name, value: { ...common, ...type, command: target, args, ...(Object.keys(env).length > 0 && { env }) } }
}

/** Reads `<client> mcp add-json [OPTIONS] NAME JSON`. */
function readAddJson(words: readonly string[]): AddedServer {
  const [name, json = ''] = parseOptions(words).operands
  return { name, value: json }
}

/**
 * Reads a command by which a client adds a server: `claude mcp add`, `claude mcp add-json`, `codex mcp add`,
 * `gemini mcp add`, `code --add-mcp`. Undefined for any other command. `program`: name without folder.
 */
export function readClientCommand(program: string, args: readonly string[]): AddedServer | undefined {
  const [first, second, ...rest] = args
  if (first === 'mcp' && second === 'add') return readAdd(rest)
  if (first === 'mcp' && second === 'add-json') return readAddJson(rest)
  const at = args.indexOf('--add-mcp')
  if (at >= 0 && /^(code|code-insiders|codium|cursor|windsurf)$/.test(program))
    return { name: undefined, value: args[at + 1] ?? '' }
  return undefined
}
