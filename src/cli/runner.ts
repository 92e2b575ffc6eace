import type { Command } from 'commander'
import type { Cli, GlobalFlags } from './cli.ts'
import { EXIT } from './failure.ts'
import { report } from './messages.ts'
import type { World } from './world.ts'

/** The work of a command. A number is its exit code, nothing is 0. */
export type Action<F extends object = object> = (cli: Cli, args: readonly string[], flags: F) => Promise<number | void>

/** Makes a commander action of an action that is loaded only when its command runs: `--help` loads none. */
export type Runner = <F extends object>(load: () => Promise<Action<F>>) => (...given: unknown[]) => Promise<void>

export function createRunner(world: World, ended: (code: number) => void): Runner {
  return (load) =>
    async (...given) => {
      const command = given.pop() as Command
      given.pop()
      const flags = command.optsWithGlobals<GlobalFlags>()
      world.interruptible?.()
      let cli: Cli | undefined
      try {
        const [{ createCli }, action] = await Promise.all([import('./cli.ts'), load()])
        const args = given.flat().filter((arg) => arg !== undefined) as string[]
        cli = await createCli(world, flags)
        ended((await action(cli, args, flags as never)) ?? EXIT.done)
      } catch (error) {
        ended(report(error, world, flags))
        if (cli) await (await import('./skew.ts')).warnOfSkew(cli, error)
      }
    }
}
