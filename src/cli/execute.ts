import { readFileSync } from 'node:fs'
import { CommanderError, type Command } from 'commander'
import { EXIT, usage } from './io/failure.ts'
import { report } from './io/messages.ts'
import { createProgram } from './program.ts'
import { createRunner } from './io/runner.ts'
import type { CliIo } from './io/io.ts'

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]

/** Returns the command as typed, with its parents. */
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

/** Reports commander's error in the CLI's form: `error: …`, with a hint for the command that was probably meant. */
function reportUsageError(text: string, args: readonly string[], io: CliIo, command: string): void {
  const [, what = text, meant] = /^(?:error: )?(.*?)\s*(?:\(Did you mean (.*)\?\)\s*)?$/s.exec(text)!
  const line = args.join(' ')
  const json = args.includes('--json') || /(^| )(-o|--output)[ =]?json( |$)/.test(line)
  report(usage(what.trim(), meant === undefined ? `see \`${command} --help\`` : `did you mean ${meant}?`), io, {
    json,
    color: !args.includes('--no-color')
  })
}

/** Runs a command line and returns its exit code. `towpath start` keeps serving afterwards. */
export async function execute(args: readonly string[], io: CliIo): Promise<number> {
  let code: number = EXIT.done
  const run = createRunner(io, (exitCode) => {
    code = exitCode
  })
  const program = createProgram(run, {
    env: io.env,
    readFile: (path) => readFileSync(path, 'utf8'),
    out: (line) => io.stdout.write(`${line}\n`),
    error: (line) => io.stderr.write(`${line}\n`),
    onExit: (exitCode) => {
      code = exitCode
    }
  })
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text) => reportUsageError(text, args, io, pathOf(command))
    })
  }
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    // commander throws for `--help` and `--version` too
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? EXIT.done : EXIT.usage
  }
  return code
}
