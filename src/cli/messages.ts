import { styleText } from 'node:util'
import type { GlobalFlags } from './cli.ts'
import { EXIT, Failure } from './failure.ts'
import type { World } from './world.ts'

/** What goes to stderr: never data. */
export interface Messages {
  /** What was done; `-q` silences it. */
  note(text: string): void
  /** What a person must know to go on. */
  tell(text: string): void
  warn(text: string, hint?: string): void
  /** `-v` alone. */
  trace(text: string): void
}

type Colour = Parameters<typeof styleText>[0]

function painter({ env, stderr }: World, { color = true }: GlobalFlags) {
  const isOn = color && Boolean(stderr.isTTY) && !env.NO_COLOR && env.TERM !== 'dumb'
  return (colour: Colour, text: string) => (isOn ? styleText(colour, text, { validateStream: false }) : text)
}

export function createMessages(world: World, flags: GlobalFlags): Messages {
  const paint = painter(world, flags)
  const line = (text: string) => world.stderr.write(`${text}\n`)
  return {
    note(text) {
      if (!flags.quiet) line(text)
    },
    tell: (text) => void line(text),
    warn(text, hint) {
      line(`${paint('yellow', 'warning:')} ${text}`)
      if (hint !== undefined && !flags.quiet) line(`${paint('cyan', 'hint:')} ${hint}`)
    },
    trace(text) {
      if (flags.verbose) line(paint('dim', text))
    }
  }
}

const wantsJson = ({ json, output }: GlobalFlags) => Boolean(json) || output === 'json'

/** Says why a command failed; the exit code. */
export function report(error: unknown, world: World, flags: GlobalFlags): number {
  const failure =
    error instanceof Failure
      ? error
      : new Failure(EXIT.failed, `unexpected: ${error instanceof Error ? error.message : String(error)}`, {
          code: 'unexpected',
          hint: flags.verbose ? undefined : 'this is a bug; run it again with -v and report what it says'
        })
  const { message, code = 'failed', hint, exitCode } = failure
  if (wantsJson(flags)) {
    world.stderr.write(`${JSON.stringify({ error: message, code, ...(hint === undefined ? {} : { hint }) })}\n`)
    return exitCode
  }
  const paint = painter(world, flags)
  world.stderr.write(`${paint('red', 'error:')} ${message}\n`)
  if (hint !== undefined && !flags.quiet) world.stderr.write(`${paint('cyan', 'hint:')} ${hint}\n`)
  if (!(error instanceof Failure) && flags.verbose && error instanceof Error)
    world.stderr.write(`${error.stack ?? ''}\n`)
  return exitCode
}
