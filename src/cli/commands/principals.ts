import type { Command } from 'commander'
import { KINDS } from '../io/kinds.ts'
import type { Runner } from '../io/runner.ts'
import { collect } from './servers.ts'

const file = ['-c, --conf <file>', 'JSON or YAML file, or - for stdin'] as const

function withToken(command: Command): Command {
  return command
    .option('--access-token-stdin', 'read the access token from stdin')
    .option('--access-token <token>', 'access token on the command line, visible to other users of this machine')
}

const withGroup = (command: Command): Command =>
  command
    .option(...file)
    .option('--description <text>', 'description of the group')
    .option('--include-tool <name>', 'include a tool, <server>__<tool>; repeatable', collect)
    .option('--include-server <name>', 'include all tools, prompts and resources of a server; repeatable', collect)
    .option('--exclude-tool <name>', 'exclude a tool; repeatable', collect)
    .option('--tool-names <form>', 'form of the tool names: qualified or bare')
    .option('--rename <tool=name>', 'name that the group gives a tool; repeatable, no name for its own', collect)
    .option('--instructions <text>', 'text for the model, before the instructions of the servers')
    .option('--max-tokens <number>', 'limit of the estimated tokens of its tools')
    .option('--tool-list <form>', 'what the endpoint lists: full, or search for tools that find and call the others')
    .option('--always-listed <name>', 'list a tool in search mode all the same; repeatable', collect)
    .option('--search-limit <number>', 'hits of a query that names no limit')
    .option('--max-result-tokens <number>', 'estimated tokens beyond which texts of results are cut')

const withClient = (command: Command): Command =>
  withToken(
    command
      .option(...file)
      .option('--allow <servers>', 'servers it may use, separated by commas, or * for all')
      .option('--description <text>', 'description of the client')
      .option('--jwks <file>', 'file with the public JSON Web Key Set with which it authenticates for tokens')
      .option('--jwks-uri <url>', 'address of this key set instead')
      .option('--no-jwks', 'remove its keys')
  )

/** Adds the commands that create, update and delete groups, clients and users. */
export function addPrincipals(program: Command, run: Runner): void {
  const create = program.command('create').description('Create a group, MCP client or user')
  const update = program.command('update').description('Update a server, group, MCP client or user')
  const remove = program.command('delete').description('Delete a server, group, MCP client or user')

  withGroup(create.command('group [name]').aliases(KINDS.group.aliases).description('Create a tool group')).action(
    run(async () => (await import('../actions/groups.ts')).createGroup)
  )
  withGroup(
    update
      .command('group [name]')
      .aliases(KINDS.group.aliases)
      .description('Update a tool group; a file replaces the whole configuration')
  ).action(run(async () => (await import('../actions/groups.ts')).updateGroup))
  withClient(
    create
      .command('mcp-client [name]')
      .aliases(KINDS.client.aliases)
      .description('Create an MCP client; generates a token unless one is given')
  ).action(run(async () => (await import('../actions/clients.ts')).createClient))
  withClient(
    update
      .command('mcp-client [name]')
      .aliases(KINDS.client.aliases)
      .description('Update the permissions or the token of an MCP client')
  ).action(run(async () => (await import('../actions/clients.ts')).updateClient))
  withToken(
    create
      .command('user [name]')
      .alias('users')
      .description('Create a user; generates a token unless one is given')
      .option(...file)
  )
    .option('--role <role>', 'role: user, auditor or admin')
    .action(run(async () => (await import('../actions/users.ts')).createUser))
  withToken(
    update
      .command('user [name]')
      .alias('users')
      .option(...file)
  )
    .description('Rotate the token of a user; generates a token unless one is given. With --role, change only the role')
    .option('--role <role>', 'new role: user, auditor or admin; ends what the user has open')
    .action(run(async () => (await import('../actions/users.ts')).updateUser))
  program
    .command('invite')
    .description('Invite a user to sign in with a password')
    .command('user <name>')
    .alias('users')
    .description('Print a link with which the user sets a password, once; creates a user who does not exist')
    .option('--role <role>', 'role of a new user: user, auditor or admin')
    .action(run(async () => (await import('../actions/users.ts')).inviteUser))
  for (const verb of ['suspend', 'resume'] as const) {
    program
      .command(`${verb} <user>`)
      .description(
        verb === 'suspend'
          ? 'Refuse all tokens of a user and end what the user has open'
          : 'Accept the tokens of a suspended user again'
      )
      .action(run(async () => (await import('../actions/users.ts')).switchUser(verb)))
  }
  update
    .command('server [name]')
    .alias('servers')
    .description('Replace the configuration of a server, or change its session mode alone')
    .option('-c, --conf <file>', 'JSON or YAML file, or - for stdin')
    .option('--session-mode <mode>', 'keep everything else: stateless, stateful or shared')
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
