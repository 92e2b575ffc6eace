import { styleText } from 'node:util'
import type { GlobalFlags } from './cli.ts'
import { withoutHidden } from '../../domain/text/hidden-characters.ts'
import { EXIT, Failure } from './failure.ts'
import type { CliIo, OutputStream } from './io.ts'

/** Messages on stderr; data goes to stdout. */
export interface Messages {
  /** Reports progress; silenced by `-q`. */
  note(text: string): void
  /** Reports information that a person needs in order to continue, even with `-q`. */
  announce(text: string): void
  /** `output`: the last lines of a program's stderr. */
  warn(text: string, hint?: string, output?: readonly string[]): void
  /** Shown with `-v` only. */
  trace(text: string): void
}

type Colour = Parameters<typeof styleText>[0]
/** Colours a text; returns it unchanged where colours are off. */
export type Paint = (colour: Colour, text: string) => string

/** Returns the painter of a stream: colours on terminals only, unless NO_COLOR, `--no-color` or TERM=dumb. */
export function createPainter(
  { env }: Pick<CliIo, 'env'>,
  { color = true }: Pick<GlobalFlags, 'color'>,
  { isTTY }: Pick<OutputStream, 'isTTY'>
): Paint {
  const isOn = color && Boolean(isTTY) && !env.NO_COLOR && env.TERM !== 'dumb'
  return (colour, text) => (isOn ? styleText(colour, text, { validateStream: false }) : text)
}

/** Returns the lines under a failure; a single line already stands in the message. */
const outputLines = (output: readonly string[] = []): string[] =>
  output.length < 2 ? [] : ['last lines of stderr:', ...output.map((each) => `  ${withoutHidden(each)}`)]

export function createMessages(io: CliIo, flags: GlobalFlags): Messages {
  const paint = createPainter(io, flags, io.stderr)
  const line = (text: string) => io.stderr.write(`${text}\n`)
  return {
    note(text) {
      if (!flags.quiet) line(text)
    },
    announce: (text) => void line(text),
    warn(text, hint, output) {
      line(`${paint('yellow', 'warning:')} ${text}`)
      if (!flags.quiet) for (const each of outputLines(output)) line(paint('dim', each))
      if (hint !== undefined && !flags.quiet) line(`${paint('cyan', 'hint:')} ${hint}`)
    },
    trace(text) {
      if (flags.verbose) line(paint('dim', text))
    }
  }
}

const wantsJson = ({ json, output }: GlobalFlags) => Boolean(json) || output === 'json'

/** Reports the failure of a command and returns the exit code. */
export function report(error: unknown, io: CliIo, flags: GlobalFlags): number {
  const failure =
    error instanceof Failure
      ? error
      : new Failure(EXIT.failed, `unexpected error: ${error instanceof Error ? error.message : String(error)}`, {
          code: 'unexpected',
          hint: flags.verbose ? undefined : 'this is a bug; run the command again with -v and report the output'
        })
  const { message, code = 'failed', hint, exitCode, details } = failure
  if (wantsJson(flags)) {
    io.stderr.write(
      `${JSON.stringify({ error: message, code, ...details, ...(hint === undefined ? {} : { hint }) })}\n`
    )
    return exitCode
  }
  const paint = createPainter(io, flags, io.stderr)
  io.stderr.write(`${paint('red', 'error:')} ${message}\n`)
  if (!flags.quiet) for (const each of outputLines(details.stderr)) io.stderr.write(`${paint('dim', each)}\n`)
  if (hint !== undefined && !flags.quiet) io.stderr.write(`${paint('cyan', 'hint:')} ${hint}\n`)
  if (!(error instanceof Failure) && flags.verbose && error instanceof Error) io.stderr.write(`${error.stack ?? ''}\n`)
  return exitCode
}
