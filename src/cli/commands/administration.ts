import type { Command } from 'commander'
import type { Runner } from '../io/runner.ts'
import { addAccount } from './account.ts'
import { addPrincipals } from './principals.ts'
import { addService } from './service.ts'

/** Adds the commands for administration: the gateway, principals, logs, files and completion. */
export function addAdministration(program: Command, run: Runner): void {
  program
    .command('status')
    .description('Show connection, mode, identity and counts')
    .action(run(async () => (await import('../actions/status.ts')).status))

  program
    .command('doctor')
    .description('Diagnose client, gateway and servers')
    .action(run(async () => (await import('../actions/doctor.ts')).doctor))

  program
    .command('version')
    .description('Show the versions of this command and of the gateway')
    .action(run(async () => (await import('../actions/status.ts')).version))

  program
    .command('init-server')
    .description('Create the first administrator of an enterprise gateway and save its token in ~/.towpath.conf')
    .option('--init-secret-stdin', 'read the init secret from stdin (TOWPATH_INIT_SECRET)')
    .action(run(async () => (await import('../actions/sign-in.ts')).initServer))

  program
    .command('login [token]')
    .description('Sign in at the gateway with a browser, or verify an access token and save it in ~/.towpath.conf')
    .option('--device', 'sign in with a browser on another machine: show a link and a code')
    .option('--scopes <scopes>', 'towpath:read, towpath:call or towpath:admin, separated by commas; all by default')
    .option('--token-stdin', 'read an access token from stdin')
    .action(run(async () => (await import('../actions/sign-in.ts')).login))

  program
    .command('logout')
    .description('End the sign-in at the gateway, and remove the access token from ~/.towpath.conf')
    .action(run(async () => (await import('../actions/sign-in.ts')).logout))

  addAccount(program, run)
  addPrincipals(program, run)

  program
    .command('audit')
    .description('Show the audit log, newest last: changes and refusals')
    .option('--since <time>', 'start of the period: 30m, 2h, 7d or ISO 8601')
    .option('--actor <name>', 'only entries of this user or client')
    .option('--action <action>', 'only this action, for example server.create')
    .option('--target <name>', 'only entries about this server, user or other target')
    .option('--outcome <outcome>', 'only this outcome: begun, ok, refused or failed')
    .option('--from <moment>', 'start of the period, ISO 8601')
    .option('--to <moment>', 'end of the period, ISO 8601')
    .option('--before <id>', 'only entries older than this one')
    .option('--limit <n>', 'maximum number of entries (100)')
    .action(run(async () => (await import('../actions/audit.ts')).audit))

  program
    .command('logs')
    .description('Show the call log, newest last')
    .option('-f, --follow', 'keep showing new calls')
    .option('--server <name>', 'only calls of this server')
    .option('--tool <name>', 'only calls of this tool, <server>__<tool>')
    .option('--caller <name>', 'only calls of this user or MCP client')
    .option('--failed', 'only failed calls: tool_error, failed and timeout')
    .option('--since <time>', 'only calls since: 30m, 2h, 7d or ISO 8601')
    .option('--limit <n>', 'maximum number of past calls', '100')
    .action(run(async () => (await import('../actions/logs.ts')).logs))

  program
    .command('top')
    .description('Show the servers and tools with the most calls, and the slowest tools')
    .option('--range <range>', 'period: 1h, 24h or 7d', '1h')
    .action(run(async () => (await import('../reports/top.ts')).top))

  const keys = program.command('keys').description('Manage the encryption key and the signing key')
  keys
    .command('rotate')
    .description('Re-encrypt the stored secrets with the current key')
    .action(run(async () => (await import('../actions/keys.ts')).rotate))
  keys
    .command('rotate-signing')
    .description('Sign access tokens of OAuth clients with a new key')
    .option('--revoke', 'refuse the tokens of all older keys at once')
    .action(run(async () => (await import('../actions/keys.ts')).rotateSigningKey))

  program
    .command('export')
    .description('Export servers, groups, clients and users to files, with secrets as references to variables')
    .option('-d, --dir <folder>', 'target folder, new or empty', 'towpath-export')
    .option('--with-secrets', 'include the secrets of servers')
    .option('--pins', 'include the fingerprints of accepted definitions')
    .action(run(async () => (await import('../actions/export.ts')).exportAll))

  program
    .command('apply')
    .description('Apply configuration files: a folder written by `export`, or files of MCPJungle')
    .requiredOption('-f, --file <path>', 'folder, JSON or YAML file, or - for stdin')
    .option(
      '--prune',
      'delete what the files do not declare, of the kinds that they contain; asks for confirmation unless --yes'
    )
    .option('--dry-run', 'show the changes without making them')
    .action(run(async () => (await import('../actions/apply.ts')).apply))

  program
    .command('validate <file>')
    .description('Validate a file without contacting the gateway')
    .option('--type <type>', 'server, group, mcp-client, user, team or policy; detected by default')
    .action(run(async () => (await import('../actions/validate.ts')).validate))

  addService(program, run)

  program
    .command('completion <shell>')
    .description('Print the completion script for bash, zsh or fish; it also completes names from the gateway')
    .action(run(async () => (await import('../completion/script.ts')).completion))
  program
    .command('__complete <shell> [words...]', { hidden: true })
    .description('List the completions of a command line; for completion scripts')
    .action(run(async () => (await import('../completion/complete.ts')).complete))
}
