import { createApi, type ApiResponse, type Api } from './api.ts'
import { configPath, isReadableByOthers, readConfigFile } from './config-file.ts'
import { resolveConnection, type Connection } from './connection.ts'
import { createMessages, createPainter, type Messages, type Paint } from './messages.ts'
import { usage } from './failure.ts'
import { createSpinner } from './spinner.ts'
import { readSignIn } from './account-file.ts'
import { createTokenSource } from './sign-in-tokens.ts'
import type { CliIo } from './io.ts'

const FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const
export type Format = (typeof FORMATS)[number]

/** Options of every command. */
export interface GlobalFlags {
  readonly registry?: string
  readonly output?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly verbose?: boolean
  readonly color?: boolean
  readonly yes?: boolean
}

/** Human-readable forms of an answer. */
export interface Views {
  readonly table: (width: number | undefined, paint: Paint) => string
  /** Default: `table`. */
  readonly wide?: (width: number | undefined, paint: Paint) => string
  /** For `-o name`: one per line. */
  readonly names: () => readonly string[]
}

/** Context of a command. */
export interface Cli extends Messages {
  readonly io: CliIo
  readonly format: Format
  readonly connection: Connection
  readonly configPath: string
  readonly api: Api
  /** True if stdin and stderr are terminals and `--yes` was not given. */
  readonly canPrompt: boolean
  readonly assumesYes: boolean
  /** Colours text for stdout. */
  readonly paint: Paint
  /** Writes data to stdout. */
  out(text: string): void
  /** Shows a response of the gateway, or a combination of several, in the requested format. */
  show(answer: Pick<ApiResponse<unknown>, 'body'> & { readonly text?: string }, views: Views): Promise<void>
}

function formatOf({ json, output }: GlobalFlags): Format {
  const format = output ?? (json ? 'json' : 'table')
  if (!(FORMATS as readonly string[]).includes(format)) throw usage(`-o accepts ${FORMATS.join(', ')}, not "${format}"`)
  if (json && format !== 'json') throw usage('--json means -o json: use only one of them')
  return format as Format
}

async function serialize(format: Format, isTerminal: boolean, body: unknown, text?: string): Promise<string> {
  if (format === 'yaml') return (await import('yaml')).stringify(body).trimEnd()
  return isTerminal || text === undefined ? JSON.stringify(body, null, 2) : text
}

export async function createCli(io: CliIo, flags: GlobalFlags): Promise<Cli> {
  const format = formatOf(flags)
  const messages = createMessages(io, flags)
  const path = configPath(io.home)
  const file = await readConfigFile(path)
  if (file.access_token && (await isReadableByOthers(path)))
    messages.warn(`${path} contains a token and is readable by other users`, `chmod 600 ${path}`)
  const configured = resolveConnection(flags.registry, io.env, file, path)
  const signedIn =
    configured.tokenSource === 'TOWPATH_TOKEN' ? undefined : await readSignIn(io.home, configured.registry)
  const target: Connection = signedIn ? { ...configured, token: undefined, tokenSource: 'sign-in' } : configured
  const source = signedIn && createTokenSource(io.home, signedIn)
  const paint = createPainter(io, flags, io.stdout)
  const out = (text: string) => {
    if (text !== '') io.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
  }
  return {
    ...messages,
    io,
    format,
    connection: target,
    configPath: path,
    api: createApi(target, messages.trace, createSpinner(io, flags), source),
    canPrompt: !flags.yes && Boolean(io.stdin.isTTY && io.stderr.isTTY),
    assumesYes: Boolean(flags.yes),
    paint,
    out,
    async show({ body, text }, { table, wide = table, names }) {
      // a terminal of unknown width reports 0
      const width = (io.stdout.isTTY && io.stdout.columns) || undefined
      if (format === 'name') return out(names().join('\n'))
      if (format === 'table') return out(table(width, paint))
      if (format === 'wide') return out(wide(width, paint))
      out(await serialize(format, Boolean(io.stdout.isTTY), body, text))
    }
  }
}
