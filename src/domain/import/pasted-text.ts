import { assignmentsOf, readClientCommand } from './client-commands.ts'
import { readInstallLink } from './install-link.ts'
import { suggestName } from './name.ts'
import { readCommandLines, type CommandLine } from './shell-words.ts'

type Members = Readonly<Record<string, unknown>>

/** Server found in a text that is not JSON. */
export interface PastedServer {
  readonly name: string | undefined
  /** An entry as in a client's configuration, or JSON text of one. */
  readonly value: Members | string
  readonly problems: readonly string[]
  readonly notes: readonly string[]
}

/** Longest command line or link, in characters. */
const MAX_LENGTH = 65_536
const MAX_LINES = 100

const runners =
  /^(npx|npm|pnpm|pnpx|yarn|bun|bunx|deno|node|tsx|uv|uvx|pipx|python[\d.]*|py|docker|podman|nerdctl|java|dotnet|go|cargo|ruby|php|cmd|bash|sh|zsh|pwsh|powershell)$/i
const installers =
  /^(npm (i|install)|pip\d* install|pipx install|uv (pip|tool) install|brew |git clone|go install|cargo install|curl |wget )/

/** Returns a program's name without its folder and extension. */
const programOf = (command: string) => command.replace(/^.*[\\/]/, '').replace(/\.(exe|cmd|bat)$/i, '')

const isAssignment = (word: string | undefined) => word !== undefined && /^[A-Za-z_]\w*=/.test(word)

/** Separates the variables in front of a command from its words. */
function withoutVariables(words: readonly string[]): { env: Record<string, string>; command: readonly string[] } {
  const rest = words[0] === '$' ? words.slice(1) : words
  const from = rest[0] === 'env' ? 1 : 0
  const end = rest.findIndex((word, at) => at >= from && !isAssignment(word))
  const command = end < 0 ? [] : rest.slice(end)
  return { env: assignmentsOf(rest.slice(from, end < 0 ? rest.length : end)), command }
}

const isProgram = (word: string) =>
  runners.test(programOf(word)) || (!/^[a-z][\w+.-]*:/i.test(word) && /[\\/]|mcp|server/i.test(word))

/** Shell features count only beside a program, since prose has parentheses and semicolons too. */
const looksLikeCommand = (command: readonly string[], isPrefixed: boolean, features: readonly string[]) =>
  isPrefixed || isProgram(command[0]!) || (features.length > 0 && command.some((word) => runners.test(word)))

/** Returns what a `docker run` needs that the command line lacks, and the variables that it takes from its caller. */
function dockerRemarks(args: readonly string[]) {
  const isRun = args[0] === 'run'
  const short = args.filter((word) => /^-[a-z]+$/.test(word)).join('')
  const has = (letter: string, long: string) => short.includes(letter) || args.includes(long)
  const notes = isRun && !has('i', '--interactive') ? ['without -i, the server in the container gets no messages'] : []
  const problems = [
    ...(isRun && has('t', '--tty') ? ['-t allocates a terminal, which breaks the messages: leave it out'] : []),
    ...(isRun && has('d', '--detach') ? ['-d runs the container in the background: leave it out'] : [])
  ]
  const passed = args.flatMap((word, at) =>
    /^(-e|--env)$/.test(args[at - 1] ?? '') && /^[A-Za-z_]\w*$/.test(word) ? [word] : []
  )
  const image = args.find((word) => /^[\w.-]+(?:\/[\w.-]+)+(?::[\w.-]+)?$/.test(word))
  const name = image === undefined ? undefined : suggestName({ command: image.replace(/:[^/]*$/, '') })
  return { name, notes, problems, env: isRun ? Object.fromEntries(passed.map((name) => [name, `\${${name}}`])) : {} }
}

function readCommand({ words, features, notes }: CommandLine): PastedServer | undefined {
  const { env, command } = withoutVariables(words)
  const [executable, ...args] = command
  if (executable === undefined) return undefined
  const program = programOf(executable)
  const problems = features.map((feature) => `it contains ${feature}; the gateway starts one program without a shell`)
  const added = readClientCommand(program, args)
  if (added) return { ...added, problems, notes }
  if (!looksLikeCommand(command, Object.keys(env).length > 0, features)) return undefined
  if (installers.test(`${[program, ...args].join(' ')} `))
    problems.push('it installs something and starts no server: paste the command that starts the server')
  const docker = /^(docker|podman|nerdctl)$/.test(program)
    ? dockerRemarks(args)
    : { name: undefined, notes: [], problems: [], env: {} }
  const all = { ...docker.env, ...env }
  return {
    name: docker.name,
    value: { command: executable, args, ...(Object.keys(all).length > 0 && { env: all }) },
    problems: [...problems, ...docker.problems],
    notes: [...notes, ...docker.notes]
  }
}

/**
 * Reads servers from an address, a link that installs a server in a client, or command lines: those that start a server
 * and those that add one to a client. Runs nothing. Undefined if the text is none of these.
 */
export function readPastedText(given: string): PastedServer[] | undefined {
  const text = given.trim()
  if (text === '' || text.length > MAX_LENGTH) return undefined
  if (/^\S+$/.test(text)) {
    const link = readInstallLink(text)
    if (link) return [{ name: link.name, value: link.json, problems: [], notes: [] }]
    if (/^https?:\/\//i.test(text)) return [{ name: undefined, value: { url: text }, problems: [], notes: [] }]
  }
  const lines = readCommandLines(text)
  if (lines.length > MAX_LINES) return undefined
  const servers = lines.map(readCommand)
  return servers.every((server) => server !== undefined) && servers.length > 0 ? servers : undefined
}
