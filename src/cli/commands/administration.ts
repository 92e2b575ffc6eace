import type { Command } from 'commander'
import type { Runner } from '../runner.ts'
import { addPrincipals } from './principals.ts'

/** Adds the commands for administration: the gateway, principals, logs, files and completion. */
export function addAdministration(program: Command, run: Runner): void {
  program
    .command('status')
    .description('Is the gateway there, in which mode, who am I, how much is registered')
    .action(run(async () => (await import('../actions/status.ts')).status))

  program
    .command('doctor')
    .description('Look for what is wrong: the connection, the token, the gateway, its servers')
    .action(run(async () => (await import('../actions/doctor.ts')).doctor))

  program
    .command('version')
    .description('Versions of this command and of the gateway')
    .action(run(async () => (await import('../actions/status.ts')).version))

  program
    .command('init-server')
    .description('Make the first administrator of an enterprise gateway, and keep its token in ~/.towpath.conf')
    .option('--init-secret-stdin', 'read the init secret from stdin (TOWPATH_INIT_SECRET)')
    .action(run(async () => (await import('../actions/sign-in.ts')).initServer))

  program
    .command('login [token]')
    .description('Keep an access token in ~/.towpath.conf once the gateway has taken it')
    .option('--token-stdin', 'read it from stdin')
    .action(run(async () => (await import('../actions/sign-in.ts')).login))

  program
    .command('logout')
    .description('Forget the access token in ~/.towpath.conf')
    .action(run(async () => (await import('../actions/sign-in.ts')).logout))

  addPrincipals(program, run)

  program
    .command('audit')
    .description('Who changed what, and who was refused')
    .option('--actor <name>', 'only what this principal did')
    .option('--action <action>', 'for example server.create')
    .option('--target <name>', 'what it was done to')
    .option('--outcome <outcome>', 'begun, ok, refused or failed')
    .option('--from <moment>', 'ISO 8601')
    .option('--to <moment>', 'ISO 8601')
    .option('--before <id>', 'rows older than this one')
    .option('--limit <n>', 'at most so many rows (100)')
    .action(run(async () => (await import('../actions/audit.ts')).audit))

  program
    .command('logs')
    .description('Who called what, and how it went; the newest at the end')
    .option('-f, --follow', 'go on with the calls that come in')
    .option('--server <name>', 'only calls of this server')
    .option('--tool <name>', 'only calls of this tool, <server>__<tool>')
    .option('--caller <name>', 'only calls of this user or MCP client')
    .option('--failed', 'only what went wrong: tool_error, failed and timeout')
    .option('--limit <n>', 'at most so many calls that were there before', '100')
    .action(run(async () => (await import('../actions/logs.ts')).logs))

  const keys = program.command('keys').description('The key that seals secrets')
  keys
    .command('rotate')
    .description('Move the stored secrets to the current encryption key')
    .action(run(async () => (await import('../actions/keys.ts')).rotate))

  program
    .command('export')
    .description('Write servers, groups, clients and users into files; secrets as references to variables')
    .option('-d, --dir <folder>', 'an empty folder, or one that is not there yet', 'towpath-export')
    .option('--with-secrets', 'write the secrets of servers too')
    .action(run(async () => (await import('../actions/export.ts')).exportAll))

  program
    .command('apply')
    .description('Make the gateway what files say: a folder as `export` writes it, or of MCPJungle; tells what changed')
    .requiredOption('-f, --file <path>', 'folder, JSON or YAML file, or - for stdin')
    .option('--prune', 'delete what is not in the files, of the kinds that they hold; asks, or needs --yes')
    .option('--dry-run', 'only tell what would change')
    .action(run(async () => (await import('../actions/apply.ts')).apply))

  program
    .command('validate <file>')
    .description('Check a file without sending it')
    .option('--type <type>', 'server, group, mcp-client or user; by default what it looks like')
    .action(run(async () => (await import('../actions/validate.ts')).validate))

  program
    .command('completion <shell>')
    .description('Print the completion script of bash, zsh or fish; what it offers has the names of the gateway in it')
    .action(run(async () => (await import('../actions/completion.ts')).completion))
  program
    .command('__complete <shell> [words...]', { hidden: true })
    .description('What can stand at the end of a line; for completion scripts')
    .action(run(async () => (await import('../actions/complete.ts')).complete))
}
