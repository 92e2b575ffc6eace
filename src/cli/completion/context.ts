import { SESSION_MODES } from '../../domain/session-modes.ts'
import { TRANSPORTS } from '../../domain/transports.ts'
import type { Command, Option } from 'commander'
import { CLIENTS, FILE_CLIENTS } from '../../domain/clients/clients.ts'
import { KINDS, type KindName } from '../io/kinds.ts'

/** Completion by names from the gateway. */
export interface GatewayNames {
  readonly kinds: readonly KindName[]
}

/** Candidates for one position of a command line. */
export type Candidates =
  GatewayNames | { readonly catalogue: true } | { readonly words: readonly Candidate[] } | { readonly files: true }

export interface Candidate {
  readonly text: string
  readonly about: string
}

/** Completion context at the cursor. */
export interface CompletionContext {
  readonly candidates: Candidates
  /** Value of `--registry`, if the line has it: names come from that gateway. */
  readonly registry?: string
}

const words = (texts: readonly string[]): Candidates => ({ words: texts.map((text) => ({ text, about: '' })) })
const gatewayNames = (...kinds: readonly KindName[]): Candidates => ({ kinds })
const files: Candidates = { files: true }
const none = words([])

const kindOf = (name: string) =>
  (Object.keys(KINDS) as KindName[]).find((kind) => KINDS[kind].singular === name || KINDS[kind].plural === name)

/** Candidates for option values, by long option name. */
export const OPTION_VALUES: Readonly<Record<string, Candidates>> = {
  '--output': words(['table', 'wide', 'json', 'yaml', 'name']),
  '--conf': files,
  '--file': files,
  '--dir': files,
  '--save': files,
  '--data-dir': files,
  '--server': gatewayNames('server'),
  '--include-server': gatewayNames('server'),
  '--allow': gatewayNames('server'),
  '--group': gatewayNames('group'),
  '--tool': gatewayNames('tool'),
  '--include-tool': gatewayNames('tool'),
  '--exclude-tool': gatewayNames('tool'),
  '--transport': words(TRANSPORTS),
  '--session-mode': words(SESSION_MODES),
  '--tool-names': words(['qualified', 'bare']),
  '--package': words(['remote', 'npm', 'pypi', 'oci', 'nuget']),
  '--client': words(FILE_CLIENTS),
  '--role': words(['user', 'auditor', 'admin']),
  '--scopes': words(['mcp', 'towpath:read', 'towpath:call', 'towpath:admin']),
  '--user': gatewayNames('user'),
  '--type': words(['server', 'group', 'mcp-client', 'user']),
  '--outcome': words(['ok', 'refused', 'failed']),
  '--log-level': words(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
}

/** Candidates for operands, by command path. For `get`, `update`, `delete`, `enable` and `disable` the kind decides. */
export const OPERANDS: Readonly<Record<string, Candidates>> = {
  deregister: gatewayNames('server'),
  refresh: gatewayNames('server'),
  test: gatewayNames('server'),
  usage: gatewayNames('tool'),
  invoke: gatewayNames('tool'),
  render: gatewayNames('prompt'),
  read: gatewayNames('resource'),
  install: { catalogue: true },
  suspend: gatewayNames('user'),
  resume: gatewayNames('user'),
  connect: words(CLIENTS),
  completion: words(['bash', 'zsh', 'fish']),
  import: files,
  validate: files
}

function operandOf(path: readonly string[], position: number): Candidates {
  if (position > 0) return none
  const [verb = '', name = ''] = path
  const kind = kindOf(name)
  if (kind === undefined) return OPERANDS[path.join(' ')] ?? none
  if (verb === 'get' || verb === 'describe' || verb === 'update' || verb === 'delete') return gatewayNames(kind)
  if (verb === 'enable' || verb === 'disable')
    return kind === 'server' ? gatewayNames(kind) : gatewayNames(kind, 'server')
  return none
}

const findOption = (command: Command, name: string): Option | undefined =>
  command.options.find(({ long, short }) => long === name || short === name) ??
  (command.parent ? findOption(command.parent, name) : undefined)

const allOptions = (command: Command): Option[] => [
  ...command.options.filter(({ hidden }) => !hidden),
  ...(command.parent ? allOptions(command.parent) : [])
]

const optionsOf = (command: Command): Candidate[] => [
  ...allOptions(command).flatMap(({ long, description }) => (long ? [{ text: long, about: description }] : [])),
  { text: '--help', about: 'show help' }
]

const valueOf = (option: Option): Candidates => OPTION_VALUES[option.long ?? ''] ?? none

/** Command line before the cursor, parsed. */
interface ParsedLine {
  command: Command
  readonly path: string[]
  operands: number
  /** Option whose value is the next word. */
  pending: Option | undefined
  registry: string | undefined
  /** True after `--`: the rest belongs to another program. */
  isForeign: boolean
}

function setOption(read: ParsedLine, option: Option, value: string): void {
  if (option.long === '--registry') read.registry = value
}

function readOption(read: ParsedLine, word: string): void {
  const [name = '', value] = word.split(/=(.*)/s)
  const option = findOption(read.command, name)
  if (!option || !(option.required || option.optional)) return
  if (value === undefined) read.pending = option
  else setOption(read, option, value)
}

function readWord(read: ParsedLine, word: string): void {
  const below = read.command.commands.find((each) => each.name() === word || each.aliases().includes(word))
  if (below && read.operands === 0) {
    read.command = below
    read.path.push(below.name())
  } else {
    read.operands++
  }
}

function readLine(program: Command, line: readonly string[]): ParsedLine {
  const read: ParsedLine = {
    command: program,
    path: [],
    operands: 0,
    pending: undefined,
    registry: undefined,
    isForeign: false
  }
  for (const word of line) {
    if (read.pending) {
      setOption(read, read.pending, word)
      read.pending = undefined
    } else if (word === '--') {
      read.isForeign = true
      break
    } else if (word.startsWith('-')) {
      readOption(read, word)
    } else {
      readWord(read, word)
    }
  }
  return read
}

function candidatesFor({ command, path, operands, pending, isForeign }: ParsedLine, last: string): Candidates {
  if (isForeign) return files
  if (pending) return valueOf(pending)
  if (last.startsWith('--') && last.includes('=')) return valueCandidates(command, last)
  if (last.startsWith('-')) return { words: optionsOf(command) }
  if (command.commands.length > 0 && operands === 0) {
    const shown = command.createHelp().visibleCommands(command)
    return { words: shown.map((each) => ({ text: each.name(), about: each.description() })) }
  }
  return operandOf(path, operands)
}

/** Returns the candidates for the last word of `line`, which is being typed. `line` excludes the program's name. */
export function completionAt(program: Command, line: readonly string[]): CompletionContext {
  const read = readLine(program, line.slice(0, -1))
  const candidates = candidatesFor(read, line.at(-1) ?? '')
  return { candidates, ...(read.registry === undefined ? {} : { registry: read.registry }) }
}

/** Candidates for `--option=value`, with the option included. */
function valueCandidates(command: Command, last: string): Candidates {
  const [name = ''] = last.split('=', 1)
  const option = findOption(command, name)
  const candidates = option ? valueOf(option) : none
  if (!('words' in candidates)) return none
  return { words: candidates.words.map(({ text, about }) => ({ text: `${name}=${text}`, about })) }
}
