import type { Command } from 'commander'
import type { Cli, GlobalFlags } from './cli.ts'
import { EXIT } from './failure.ts'
import { report } from './messages.ts'
import type { CliIo } from './io.ts'

/** Implementation of a command. Returns its exit code; undefined is 0. */
export type Action<F extends object = object> = (cli: Cli, args: readonly string[], flags: F) => Promise<number | void>

/** Creates a commander action from one that is loaded only when its command runs: `--help` loads none. */
export type Runner = <F extends object>(load: () => Promise<Action<F>>) => (...given: unknown[]) => Promise<void>

export function createRunner(io: CliIo, onExit: (code: number) => void): Runner {
  return (load) =>
    async (...given) => {
      const command = given.pop() as Command
      given.pop()
      const flags = command.optsWithGlobals<GlobalFlags>()
      io.exitOnInterrupt?.()
      let cli: Cli | undefined
      try {
        const [{ createCli }, action] = await Promise.all([import('./cli.ts'), load()])
        const args = given.flat().filter((arg) => arg !== undefined) as string[]
        cli = await createCli(io, flags)
        onExit((await action(cli, args, flags as never)) ?? EXIT.done)
      } catch (error) {
        onExit(report(error, io, flags))
        if (cli) await (await import('./version-check.ts')).warnOfVersionMismatch(cli, error)
      }
    }
}
