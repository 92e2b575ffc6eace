import type { Command } from 'commander'
import { KINDS } from '../kinds.ts'
import type { Runner } from '../runner.ts'
import { collect } from './servers.ts'

const file = ['-c, --conf <file>', 'JSON or YAML, or - for stdin'] as const

function withToken(command: Command): Command {
  return command
    .option('--access-token-stdin', 'read its access token from stdin')
    .option('--access-token <token>', 'the same on the command line, where other users of the machine can see it')
}

const withGroup = (command: Command): Command =>
  command
    .option(...file)
    .option('--description <text>', 'what it is for')
    .option('--include-tool <name>', 'a tool, <server>__<tool>; repeatable', collect)
    .option('--include-server <name>', 'a server with all it has; repeatable', collect)
    .option('--exclude-tool <name>', 'a tool that is left out; repeatable', collect)
    .option('--tool-names <form>', 'qualified or bare')

const withClient = (command: Command): Command =>
  withToken(
    command
      .option(...file)
      .option('--allow <servers>', 'names with commas between them, or * for all')
      .option('--description <text>', 'who it is')
  )

/** Adds the commands that create, update and delete groups, clients and users. */
export function addPrincipals(program: Command, run: Runner): void {
  const create = program.command('create').description('Create a group, MCP client or user')
  const update = program.command('update').description('Change a server, group, MCP client or user')
  const remove = program.command('delete').description('Delete a server, group, MCP client or user')

  withGroup(create.command('group [name]').aliases(KINDS.group.aliases).description('Create a tool group')).action(
    run(async () => (await import('../actions/groups.ts')).createGroup)
  )
  withGroup(
    update
      .command('group [name]')
      .aliases(KINDS.group.aliases)
      .description('Change a tool group; a file replaces it whole')
  ).action(run(async () => (await import('../actions/groups.ts')).updateGroup))
  withClient(
    create
      .command('mcp-client [name]')
      .aliases(KINDS.client.aliases)
      .description('Create an MCP client; without a token given, one is generated')
  ).action(run(async () => (await import('../actions/clients.ts')).createClient))
  withClient(
    update
      .command('mcp-client [name]')
      .aliases(KINDS.client.aliases)
      .description('Change an MCP client: what it may use, its token')
  ).action(run(async () => (await import('../actions/clients.ts')).updateClient))
  withToken(
    create
      .command('user [name]')
      .alias('users')
      .description('Create a user; without a token given, one is generated')
      .option(...file)
  )
    .option('--role <role>', 'user or admin')
    .action(run(async () => (await import('../actions/users.ts')).createUser))
  withToken(
    update
      .command('user [name]')
      .alias('users')
      .option(...file)
  )
    .description('Rotate the token of a user; without a token given, one is generated')
    .action(run(async () => (await import('../actions/users.ts')).updateUser))
  update
    .command('server [name]')
    .alias('servers')
    .description('Replace the configuration of a server')
    .requiredOption('-c, --conf <file>', 'JSON or YAML, or - for stdin')
    .action(run(async () => (await import('../actions/update-server.ts')).updateServer))

  for (const kind of ['server', 'group', 'client', 'user'] as const) {
    const { singular, plural, aliases } = KINDS[kind]
    remove
      .command(`${singular} <name>`)
      .aliases([plural, ...aliases])
      .description(`Delete a ${singular}`)
      .action(run(async () => (await import('../actions/remove.ts')).removeOf(kind)))
  }
}
