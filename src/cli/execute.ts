import { readFileSync } from 'node:fs'
import { CommanderError, type Command } from 'commander'
import { EXIT, usage } from './failure.ts'
import { report } from './messages.ts'
import { createProgram } from './program.ts'
import { createRunner } from './runner.ts'
import type { World } from './world.ts'

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]

/** Commander's own sentence in our form: `error: …`, and a line of its own for what was probably meant. */
function tellRefusal(text: string, args: readonly string[], world: World): void {
  const [, what = text, meant] = /^(?:error: )?(.*?)\s*(?:\(Did you mean (.*)\?\)\s*)?$/s.exec(text)!
  const line = args.join(' ')
  const json = args.includes('--json') || /(^| )(-o|--output)[ =]?json( |$)/.test(line)
  report(usage(what.trim(), meant === undefined ? 'see `towpath --help`' : `did you mean ${meant}?`), world, {
    json,
    color: !args.includes('--no-color')
  })
}

/** Runs one command line; its exit code. `towpath start` goes on serving after that. */
export async function execute(args: readonly string[], world: World): Promise<number> {
  let code: number = EXIT.done
  const run = createRunner(world, (ended) => {
    code = ended
  })
  const program = createProgram(run, {
    env: world.env,
    readFile: (path) => readFileSync(path, 'utf8'),
    out: (line) => world.stdout.write(`${line}\n`),
    error: (line) => world.stderr.write(`${line}\n`),
    ended: (ended) => {
      code = ended
    }
  })
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput({
      writeOut: (text) => world.stdout.write(text),
      writeErr: (text) => world.stderr.write(text),
      outputError: (text) => tellRefusal(text, args, world)
    })
  }
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    // help and the version are ends too
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? EXIT.done : EXIT.usage
  }
  return code
}
