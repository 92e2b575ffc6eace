import type { Command } from 'commander'
import type { Runner } from '../io/runner.ts'
import { collect } from './servers.ts'

const file = ['-c, --conf <file>', 'JSON or YAML file, or - for stdin'] as const

/** Adds the commands for policies. */
export function addPolicies(program: Command, run: Runner): void {
  const policy = program.command('policy').description('Rules about who may use which items')
  policy
    .command('list')
    .description('List policies')
    .action(run(async () => (await import('../policies/policies.ts')).listPolicies))
  policy
    .command('get <name>')
    .description('Show a policy')
    .action(run(async () => (await import('../policies/policies.ts')).getPolicy))
  policy
    .command('create')
    .description('Create a policy')
    .requiredOption(...file)
    .action(run(async () => (await import('../policies/policies.ts')).createPolicy))
  policy
    .command('update')
    .description('Replace a policy by the one of the same name in a file')
    .requiredOption(...file)
    .action(run(async () => (await import('../policies/policies.ts')).updatePolicy))
  policy
    .command('delete <name>')
    .description('Delete a policy')
    .action(run(async () => (await import('../policies/policies.ts')).deletePolicy))
  policy
    .command('validate')
    .description('Check a policy by the gateway without storing it')
    .requiredOption(...file)
    .action(run(async () => (await import('../policies/policies.ts')).validatePolicy))
  policy
    .command('why <caller> <item>')
    .description('Show why a user, or an MCP client, may or may not call a tool: <server>__<tool>')
    .option('--client', 'the caller is an MCP client')
    .option('--kind <kind>', 'kind of the item: tool, prompt or resource', 'tool')
    .option('--input <json>', 'arguments as a JSON object')
    .option('--scopes <list>', "scopes of the caller's token, separated by commas")
    .option('--group <name>', 'endpoint of this tool group')
    .option('-c, --conf <file>', 'decide as if the policies in this file were stored')
    .action(run(async () => (await import('../policies/policies.ts')).explainPolicies))
  policy
    .command('test <file>')
    .description('Check a table of calls against the decisions of the gateway; ends with 1 if one differs')
    .option('-c, --conf <file>', 'decide as if the policies in this file or folder were stored')
    .action(run(async () => (await import('../policies/test.ts')).testPolicies))
  policy
    .command('replay')
    .description('Show which logged calls a change of the policies would deny or allow')
    .option('-c, --conf <file>', 'file or folder with policies; each replaces the stored one of its name')
    .option('--without <list>', 'names of stored policies to remove, separated by commas')
    .option('--since <time>', 'calls from 30m, 2h or 7d ago, or from an ISO 8601 time', '24h')
    .action(run(async () => (await import('../policies/replay.ts')).replayPolicies))
}

/** Adds the commands for calls that wait for an approval. */
export function addApprovals(program: Command, run: Runner): void {
  program
    .command('approvals')
    .description('List calls that wait for an approval')
    .option('-f, --follow', 'keep showing new calls')
    .option('--all', 'also those that were decided on, used or have expired')
    .action(run(async () => (await import('../policies/approvals.ts')).listApprovals))
  program
    .command('approve <id>')
    .description('Let a call run that waits for an approval')
    .option('--reason <text>', 'why, for the audit log')
    .action(run(async () => (await import('../policies/approvals.ts')).approveCall))
  program
    .command('deny <id>')
    .description('Refuse a call that waits for an approval')
    .option('--reason <text>', 'text for the caller')
    .action(run(async () => (await import('../policies/approvals.ts')).denyCall))
}

const withTeam = (command: Command): Command =>
  command
    .option('-c, --conf <file>', 'JSON or YAML file, or - for stdin')
    .option('--member <user>', 'user who is a member; repeatable', collect)
    .option('--manager <user>', 'user who manages the team; repeatable', collect)
    .option('--group <name>', 'group of the identity provider whose people belong to the team; repeatable', collect)

/** Adds the commands for teams. */
export function addTeams(program: Command, run: Runner): void {
  const team = program.command('team').description('People whom policies name together, in enterprise mode')
  team
    .command('list')
    .description('List teams')
    .action(run(async () => (await import('../policies/teams.ts')).listTeams))
  team
    .command('get <name>')
    .description('Show a team')
    .action(run(async () => (await import('../policies/teams.ts')).getTeam))
  withTeam(team.command('create [name]').description('Create a team')).action(
    run(async () => (await import('../policies/teams.ts')).createTeam)
  )
  withTeam(team.command('update [name]').description('Replace the members and groups of a team')).action(
    run(async () => (await import('../policies/teams.ts')).updateTeam)
  )
  team
    .command('delete <name>')
    .description('Delete a team')
    .action(run(async () => (await import('../policies/teams.ts')).deleteTeam))
}
