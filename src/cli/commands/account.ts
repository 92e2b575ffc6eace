import type { Command } from 'commander'
import type { Runner } from '../io/runner.ts'

/** Adds the commands about the own account and the access tokens of users. */
export function addAccount(program: Command, run: Runner): void {
  program
    .command('whoami')
    .description('Show the own name, role and access token')
    .action(run(async () => (await import('../account/tokens.ts')).whoami))

  const token = program.command('token').description('Manage personal access tokens (enterprise mode)')
  token
    .command('list')
    .description('List the own access tokens')
    .option('--user <name>', 'tokens of this user; for administrators and auditors')
    .action(run(async () => (await import('../account/tokens.ts')).listTokens))
  token
    .command('create <name>')
    .description('Create a personal access token')
    .requiredOption('--scopes <scopes>', 'mcp, towpath:read, towpath:call or towpath:admin, separated by commas')
    .option('--expires <time>', 'days (90d), ISO 8601 time or never', '90d')
    .action(run(async () => (await import('../account/tokens.ts')).createToken))
  token
    .command('revoke <name>')
    .description('Revoke an access token, by its name or id')
    .option('--user <name>', 'token of this user; for administrators')
    .action(run(async () => (await import('../account/tokens.ts')).revokeToken))
}
