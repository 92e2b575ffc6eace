import type { Command } from 'commander'
import type { Runner } from '../io/runner.ts'

/** Adds the commands that run the gateway as a service of systemd or launchd. */
export function addService(program: Command, run: Runner): void {
  const service = program.command('service').description('Run the gateway as a service of systemd or launchd')
  const load = () => import('../service/service.ts')
  const add = (usage: string, description: string) =>
    service
      .command(usage)
      .description(description)
      .option('--system', 'a service of the machine instead of your user (root)')
  add('install [start-flags...]', 'Install and start the service: towpath service install -- --port 9000')
    .option('--dry-run', 'print the definition without installing it')
    .action(run(async () => (await load()).install))
  add('status', 'Show whether the service runs').action(run(async () => (await load()).status))
  add('logs', 'Show the log of the service')
    .option('-f, --follow', 'keep showing new lines')
    .option('--lines <n>', 'number of past lines', '100')
    .action(run(async () => (await load()).logs))
  add('uninstall', 'Stop and remove the service; data and settings stay').action(
    run(async () => (await load()).uninstall)
  )
}
