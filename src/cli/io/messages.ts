import { styleText } from 'node:util'
import type { GlobalFlags } from './cli.ts'
import { withoutHidden } from '../../domain/text/hidden-characters.ts'
import { EXIT, Failure } from './failure.ts'
import type { CliIo } from './io.ts'

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

function painter({ env, stderr }: CliIo, { color = true }: GlobalFlags) {
  const isOn = color && Boolean(stderr.isTTY) && !env.NO_COLOR && env.TERM !== 'dumb'
  return (colour: Colour, text: string) => (isOn ? styleText(colour, text, { validateStream: false }) : text)
}

/** Returns the lines under a failure; a single line already stands in the message. */
const outputLines = (output: readonly string[] = []): string[] =>
  output.length < 2 ? [] : ['last lines of stderr:', ...output.map((each) => `  ${withoutHidden(each)}`)]

export function createMessages(io: CliIo, flags: GlobalFlags): Messages {
  const paint = painter(io, flags)
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
  const paint = painter(io, flags)
  io.stderr.write(`${paint('red', 'error:')} ${message}\n`)
  if (!flags.quiet) for (const each of outputLines(details.stderr)) io.stderr.write(`${paint('dim', each)}\n`)
  if (hint !== undefined && !flags.quiet) io.stderr.write(`${paint('cyan', 'hint:')} ${hint}\n`)
  if (!(error instanceof Failure) && flags.verbose && error instanceof Error) io.stderr.write(`${error.stack ?? ''}\n`)
  return exitCode
}
