import type { Command } from 'commander'
import type { Runner } from '../io/runner.ts'

const load = () => import('../definitions/definitions.ts')
const server = ['--server <name>', 'only definitions of this server'] as const

/** Adds the commands for the review of definitions. */
export function addDefinitions(program: Command, run: Runner): void {
  const definitions = program
    .command('definitions')
    .description('What servers tell models about their items: review what nobody has accepted')
  definitions
    .command('list', { isDefault: true })
    .description('List definitions; "list" can be left out')
    .option('--held', 'only those that wait for a decision')
    .option(...server)
    .action(run(async () => (await load()).listDefinitions))
  definitions
    .command('diff <item...>')
    .description('Show what a server has changed: <server>/<kind>/<name>, or <server>__<tool>')
    .action(run(async () => (await load()).diffDefinition))
  definitions
    .command('accept [item...]')
    .description('Serve the present definitions; <item>@<fingerprint> accepts only what you have seen')
    .option('--server <name>', 'all that wait of this server, except those with warnings that are not named')
    .action(run(async () => (await load()).acceptDefinitions))
  definitions
    .command('reject <item...>')
    .description('Take definitions off the list until the server changes them again')
    .action(run(async () => (await load()).rejectDefinitions))
  definitions
    .command('policy <server> [policy]')
    .description('Set what is served while definitions wait: follow, pin, block, or default; without it, show it')
    .action(run(async () => (await load()).definitionPolicy))
  definitions
    .command('lock')
    .description('Show the fingerprints of all accepted definitions, as server files carry them in "pins"')
    .option(...server)
    .action(run(async () => (await load()).lockDefinitions))
}
