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

  const client = program.command('oauth-client').description('OAuth clients that act for people who sign in')
  client
    .command('list')
    .description('List the OAuth clients that act for you')
    .option('--user <name>', 'clients of this user; for administrators and auditors')
    .action(run(async () => (await import('../account/oauth-clients.ts')).listClients))
  client
    .command('disconnect <client>')
    .description('End what an OAuth client may do, by its name or id; it has to be let in again')
    .option('--user <name>', 'client of this user; for administrators')
    .action(run(async () => (await import('../account/oauth-clients.ts')).disconnectClient))
  client
    .command('registered')
    .description('List the OAuth clients that registered themselves; for administrators and auditors')
    .option('--limit <n>', 'maximum number of clients', '100')
    .action(run(async () => (await import('../account/oauth-clients.ts')).listRegistered))
  client
    .command('grants')
    .description('List what people gave to OAuth clients; for administrators and auditors')
    .option('--user <name>', 'only of this user')
    .option('--client <id>', 'only to the client with this client id')
    .option('--limit <n>', 'maximum number of grants', '100')
    .option('--cursor <cursor>', 'continue after an earlier list')
    .action(run(async () => (await import('../account/oauth-clients.ts')).listGrants))
  client
    .command('approve <id>')
    .description('Approve an OAuth client, so that people can let it in (TOWPATH_OAUTH_DCR=approve)')
    .action(run(async () => (await import('../account/oauth-clients.ts')).approveClient))
  client
    .command('remove <id>')
    .description('Remove an OAuth client that registered itself, and end what people gave to it')
    .action(run(async () => (await import('../account/oauth-clients.ts')).removeRegistered))
  program
    .command('sign-out [user]')
    .description('End all browser sessions and OAuth clients: your own, or those of a user (administrators)')
    .action(run(async () => (await import('../account/oauth-clients.ts')).signOut))
}
