import { createApi, type Answer, type Api } from './api.ts'
import { configPath, isReadableByOthers, readConfigFile } from './config-file.ts'
import { connection, type Connection } from './connection.ts'
import { createMessages, type Messages } from './messages.ts'
import { usage } from './failure.ts'
import { createWaiting } from './spinner.ts'
import type { World } from './world.ts'

const FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const
export type Format = (typeof FORMATS)[number]

/** Options that every command takes. */
export interface GlobalFlags {
  readonly registry?: string
  readonly output?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly verbose?: boolean
  readonly color?: boolean
  readonly yes?: boolean
}

/** How an answer is shown to people. */
export interface Views {
  readonly table: (width: number | undefined) => string
  /** Default: the table. */
  readonly wide?: (width: number | undefined) => string
  /** For `-o name`: one for each line. */
  readonly names: () => readonly string[]
}

/** What a command works with. */
export interface Cli extends Messages {
  readonly world: World
  readonly format: Format
  readonly connection: Connection
  readonly configPath: string
  readonly api: Api
  /** A terminal is there to be asked, and `--yes` was not given. */
  readonly canAsk: boolean
  readonly isYes: boolean
  /** Data: a line, or several, on stdout. */
  out(text: string): void
  /** An answer of the gateway, or what was put together from several, in the format asked for. */
  show(answer: Pick<Answer<unknown>, 'body'> & { readonly text?: string }, views: Views): Promise<void>
}

function formatOf({ json, output }: GlobalFlags): Format {
  const format = output ?? (json ? 'json' : 'table')
  if (!(FORMATS as readonly string[]).includes(format)) throw usage(`-o takes ${FORMATS.join(', ')}, not "${format}"`)
  if (json && format !== 'json') throw usage('--json is -o json: give one of them')
  return format as Format
}

async function inFormat(format: Format, isTerminal: boolean, body: unknown, text?: string): Promise<string> {
  if (format === 'yaml') return (await import('yaml')).stringify(body).trimEnd()
  return isTerminal || text === undefined ? JSON.stringify(body, null, 2) : text
}

export async function createCli(world: World, flags: GlobalFlags): Promise<Cli> {
  const format = formatOf(flags)
  const messages = createMessages(world, flags)
  const path = configPath(world.home)
  const file = await readConfigFile(path)
  if (file.access_token && (await isReadableByOthers(path)))
    messages.warn(`${path} holds a token and others can read it`, `chmod 600 ${path}`)
  const at = connection(flags.registry, world.env, file, path)
  const out = (text: string) => {
    if (text !== '') world.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
  }
  return {
    ...messages,
    world,
    format,
    connection: at,
    configPath: path,
    api: createApi(at, messages.trace, createWaiting(world, flags)),
    canAsk: !flags.yes && Boolean(world.stdin.isTTY && world.stderr.isTTY),
    isYes: Boolean(flags.yes),
    out,
    async show({ body, text }, { table, wide = table, names }) {
      // a terminal that does not know its width says 0
      const width = (world.stdout.isTTY && world.stdout.columns) || undefined
      if (format === 'name') return out(names().join('\n'))
      if (format === 'table') return out(table(width))
      if (format === 'wide') return out(wide(width))
      out(await inFormat(format, Boolean(world.stdout.isTTY), body, text))
    }
  }
}
