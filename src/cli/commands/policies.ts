import type { Command } from 'commander'
import type { Runner } from '../io/runner.ts'

const file = ['-c, --conf <file>', 'JSON or YAML file, or - for stdin'] as const

/** Adds the commands for policies. */
export function addPolicies(program: Command, run: Runner): void {
  const policy = program.command('policy').description('Rules about who may use which items, in enterprise mode')
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
    .option('--group <name>', 'endpoint of this tool group')
    .option('-c, --conf <file>', 'decide as if the policies in this file were stored')
    .action(run(async () => (await import('../policies/policies.ts')).explainPolicies))
}
