import type { Command } from 'commander'
import type { Runner } from '../runner.ts'

export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/** Registering, removing and reading servers again. */
export function addServers(program: Command, run: Runner): void {
  program
    .command('register [name] [command...]')
    .alias('add')
    .description('Register a server: towpath register NAME --url URL, or NAME -- COMMAND ARGS…, or -c FILE')
    .option('--name <name>', 'name of the server')
    .option('--url <url>', 'of an HTTP or SSE server')
    .option('--transport <transport>', 'stdio, streamable_http or sse; by default what fits')
    .option('--description <text>', 'what it is for')
    .option('--header <name: value>', 'sent upstream; ${VAR} is taken from the environment; repeatable', collect)
    .option('--env <NAME[=value]>', 'for a stdio server; NAME alone takes it from the environment; repeatable', collect)
    .option('--bearer-token-stdin', 'read the token that is sent upstream from stdin')
    .option('--bearer-token <token>', 'the same on the command line, where other users of the machine can see it')
    .option('--session-mode <mode>', 'stateless or stateful')
    .option('-c, --conf <file>', 'JSON or YAML: one registration, an array of them, a folder, or - for stdin')
    .option('--force', 'replace a server of the same name')
    .action(run(async () => (await import('../actions/register.ts')).register))

  program
    .command('deregister <name>')
    .alias('rm')
    .description('Remove a server and its tools, prompts and resources')
    .action(run(async () => (await import('../actions/remove.ts')).removeServer))

  program
    .command('refresh <server>')
    .description('Read the lists of a server again')
    .action(run(async () => (await import('../actions/refresh.ts')).refresh))

  program
    .command('test <server>')
    .description('Connect to a server and read its lists')
    .action(run(async () => (await import('../actions/refresh.ts')).testServer))
}
