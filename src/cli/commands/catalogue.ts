import type { Command } from 'commander'
import type { Runner } from '../io/runner.ts'
import { collect } from './servers.ts'

/** Adds the commands for the catalogue of servers that can be installed. */
export function addCatalogue(program: Command, run: Runner): void {
  program
    .command('search [words...]')
    .description('Search the catalogue of MCP servers that can be installed')
    .option('--limit <n>', 'number of servers, 100 at most', '30')
    .action(run(async () => (await import('../catalogue/search.ts')).search))

  program
    .command('install <name>')
    .description('Install a server of the catalogue: show the command that would run, ask, and register it')
    .option('--as <name>', 'name to register it under')
    .option('--package <kind>', 'way to install it: remote, npm, pypi, oci or nuget')
    .option(
      '--set <NAME[=value]>',
      'value of an input; ${VAR} is replaced from the environment, and without a value it is copied from there; repeatable',
      collect
    )
    .option('--set-stdin <NAME>', 'read the value of this input from stdin')
    .option('--dry-run', 'show what would be registered')
    .option('--force', 'replace a server with the same name')
    .option('--no-browser', 'only print the sign-in URL, without opening a browser')
    .action(run(async () => (await import('../catalogue/install.ts')).install))
}
