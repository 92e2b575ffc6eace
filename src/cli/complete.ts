import type { Command, Option } from 'commander'
import { CLIENTS } from '../domain/client-snippets.ts'
import { KINDS, type KindName } from './kinds.ts'

/** Names that only the gateway knows. */
export interface Live {
  readonly live: readonly KindName[]
}

/** What can stand at a place of a command line. */
export type Wanted = Live | { readonly words: readonly Word[] } | { readonly files: true }

export interface Word {
  readonly text: string
  readonly about: string
}

/** Where the cursor is. */
export interface Place {
  readonly wanted: Wanted
  /** Of the options of every command, `--registry`, where the line has it: the names are that gateway's. */
  readonly registry?: string
}

const words = (texts: readonly string[]): Wanted => ({ words: texts.map((text) => ({ text, about: '' })) })
const live = (...kinds: readonly KindName[]): Wanted => ({ live: kinds })
const files: Wanted = { files: true }
const nothing = words([])

const kindOf = (name: string) =>
  (Object.keys(KINDS) as KindName[]).find((kind) => KINDS[kind].singular === name || KINDS[kind].plural === name)

/** Values of options, by their long names. */
export const OPTION_VALUES: Readonly<Record<string, Wanted>> = {
  '--output': words(['table', 'wide', 'json', 'yaml', 'name']),
  '--conf': files,
  '--file': files,
  '--dir': files,
  '--save': files,
  '--data-dir': files,
  '--server': live('server'),
  '--include-server': live('server'),
  '--allow': live('server'),
  '--group': live('group'),
  '--tool': live('tool'),
  '--include-tool': live('tool'),
  '--exclude-tool': live('tool'),
  '--transport': words(['stdio', 'streamable_http', 'sse']),
  '--session-mode': words(['stateless', 'stateful']),
  '--tool-names': words(['qualified', 'bare']),
  '--role': words(['user', 'admin']),
  '--type': words(['server', 'group', 'mcp-client', 'user']),
  '--outcome': words(['ok', 'refused', 'failed']),
  '--log-level': words(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
}

/** Operands of commands, by their paths. The kinds below `get`, `update`, `delete`, `enable` and `disable` say their own. */
export const OPERANDS: Readonly<Record<string, Wanted>> = {
  deregister: live('server'),
  refresh: live('server'),
  test: live('server'),
  usage: live('tool'),
  invoke: live('tool'),
  render: live('prompt'),
  read: live('resource'),
  connect: words(CLIENTS),
  completion: words(['bash', 'zsh', 'fish']),
  import: files,
  validate: files
}

function operandOf(path: readonly string[], position: number): Wanted {
  if (position > 0) return nothing
  const [verb = '', name = ''] = path
  const kind = kindOf(name)
  if (kind === undefined) return OPERANDS[path.join(' ')] ?? nothing
  if (verb === 'get' || verb === 'update' || verb === 'delete') return live(kind)
  if (verb === 'enable' || verb === 'disable') return kind === 'server' ? live(kind) : live(kind, 'server')
  return nothing
}

const findOption = (command: Command, name: string): Option | undefined =>
  command.options.find(({ long, short }) => long === name || short === name) ??
  (command.parent ? findOption(command.parent, name) : undefined)

const allOptions = (command: Command): Option[] => [
  ...command.options.filter(({ hidden }) => !hidden),
  ...(command.parent ? allOptions(command.parent) : [])
]

const optionsOf = (command: Command): Word[] => [
  ...allOptions(command).flatMap(({ long, description }) => (long ? [{ text: long, about: description }] : [])),
  { text: '--help', about: 'how it is used' }
]

const valueOf = (option: Option): Wanted => OPTION_VALUES[option.long ?? ''] ?? nothing

/** What the words before the cursor said. */
interface Read {
  command: Command
  readonly path: string[]
  operands: number
  /** An option whose value is the next word. */
  pending: Option | undefined
  registry: string | undefined
  /** After `--`: what follows is another program's. */
  isForeign: boolean
}

function take(read: Read, option: Option, value: string): void {
  if (option.long === '--registry') read.registry = value
}

function readOption(read: Read, word: string): void {
  const [name = '', value] = word.split(/=(.*)/s)
  const option = findOption(read.command, name)
  if (!option || !(option.required || option.optional)) return
  if (value === undefined) read.pending = option
  else take(read, option, value)
}

function readWord(read: Read, word: string): void {
  const below = read.command.commands.find((each) => each.name() === word || each.aliases().includes(word))
  if (below && read.operands === 0) {
    read.command = below
    read.path.push(below.name())
  } else {
    read.operands++
  }
}

function readLine(program: Command, line: readonly string[]): Read {
  const read: Read = {
    command: program,
    path: [],
    operands: 0,
    pending: undefined,
    registry: undefined,
    isForeign: false
  }
  for (const word of line) {
    if (read.pending) {
      take(read, read.pending, word)
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

function wantedAt({ command, path, operands, pending, isForeign }: Read, last: string): Wanted {
  if (isForeign) return files
  if (pending) return valueOf(pending)
  if (last.startsWith('--') && last.includes('=')) return withOption(command, last)
  if (last.startsWith('-')) return { words: optionsOf(command) }
  if (command.commands.length > 0 && operands === 0) {
    const shown = command.createHelp().visibleCommands(command)
    return { words: shown.map((each) => ({ text: each.name(), about: each.description() })) }
  }
  return operandOf(path, operands)
}

/** What the last of `line` can be, which is being typed; the name of the program is not in it. */
export function placeOf(program: Command, line: readonly string[]): Place {
  const read = readLine(program, line.slice(0, -1))
  const wanted = wantedAt(read, line.at(-1) ?? '')
  return { wanted, ...(read.registry === undefined ? {} : { registry: read.registry }) }
}

/** `--option=value`: the candidates hold the option too. */
function withOption(command: Command, last: string): Wanted {
  const [name = ''] = last.split('=', 1)
  const option = findOption(command, name)
  const wanted = option ? valueOf(option) : nothing
  if (!('words' in wanted)) return nothing
  return { words: wanted.words.map(({ text, about }) => ({ text: `${name}=${text}`, about })) }
}
