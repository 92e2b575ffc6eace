import { mcpPath } from '../network/mcp-endpoint.ts'
import { PRODUCT } from '../product.ts'

/** Remote server that a command only connects a client to */
export interface Bridge {
  /** Name of the program */
  readonly program: string
  readonly url: string
  readonly transport: string | undefined
  readonly headers: Record<string, string>
}

type Variables = Readonly<Record<string, string>>

/** Expands variables in header values from the process environment, as `mcp-remote` does. */
const expandVariables = (value: string, env: Variables) =>
  value.replace(/\$\{([^{}]+)\}/g, (whole, name: string) => (Object.hasOwn(env, name) ? env[name]! : whole))

const header = /^([^:\s]+)\s*:\s*(.*)$/s
const isAddress = (text: string | undefined): text is string => text !== undefined && /^https?:\/\//.test(text)

/** Returns the words after a program that is started directly or by a package runner; undefined for any other program. */
function wordsAfter(program: RegExp, words: readonly string[]): readonly string[] | undefined {
  const at = words.findIndex((word) => program.test(word))
  const isRun = words.slice(0, at).every((word) => /^(npx|bunx|pnpx|pnpm|dlx|npm|exec|cmd|\/c|--|-y|--yes)$/.test(word))
  return at < 0 || !isRun ? undefined : words.slice(at + 1)
}

const valuesOf = (words: readonly string[], flag: string): string[] =>
  words.flatMap((word, at) =>
    words[at - 1] === flag ? [word] : word.startsWith(`${flag}=`) ? [word.slice(flag.length + 1)] : []
  )

function parseMcpRemote(words: readonly string[], env: Variables): Bridge | undefined {
  const [url, ...flags] = wordsAfter(/^mcp-remote(@[\w.-]+)?$/, words) ?? []
  if (!isAddress(url)) return undefined
  const headers = valuesOf(flags, '--header').flatMap((text) => {
    const [, name, value] = header.exec(text) ?? []
    return name === undefined || value === undefined ? [] : [[name, expandVariables(value, env)]]
  })
  const transport = valuesOf(flags, '--transport').includes('sse-only') ? 'sse' : undefined
  return { program: 'mcp-remote', url, transport, headers: Object.fromEntries(headers) as Record<string, string> }
}

const ownCommand = new RegExp(`^${PRODUCT}(@[\\w.-]+)?$`)
const ownProgram = /[\\/]src[\\/]cli[\\/]main\.(js|ts)$/

/** Parses `towpath stdio --registry URL [--group NAME]`, also with the path of the program. */
function parseStdio(words: readonly string[], env: Variables): Bridge | undefined {
  const at = words.findIndex((word) => ownProgram.test(word))
  const rest = at < 0 ? wordsAfter(ownCommand, words) : words.slice(at + 1)
  if (!rest?.includes('stdio')) return undefined
  const registry = valuesOf(rest, '--registry').at(-1) ?? env.TOWPATH_REGISTRY
  if (!isAddress(registry)) return undefined
  const url = registry.replace(/\/+$/, '') + mcpPath(valuesOf(rest, '--group').at(-1))
  const token = env.TOWPATH_TOKEN
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` }
  return { program: `${PRODUCT} stdio`, url, transport: undefined, headers }
}

/** Parses a command that only connects a stdio client to a remote server; undefined for any other command. */
export function parseBridge(command: string, args: readonly string[], env: Variables): Bridge | undefined {
  const name = command.replace(/^.*[\\/]/, '').replace(/\.(cmd|exe)$/i, '')
  return parseMcpRemote([name, ...args], env) ?? parseStdio([ownProgram.test(command) ? command : name, ...args], env)
}
