import type { Command } from 'commander'
import { CLIENTS } from '../../domain/client-snippets.ts'
import { PRODUCT } from '../../domain/product.ts'
import type { Runner } from '../runner.ts'

export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/** Adds the commands for servers. */
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
    .option('--oauth-assume-pkce', 'sign in with PKCE S256 where the authorization server does not announce it')
    .option('-c, --conf <file>', 'JSON or YAML: one registration, an array of them, a folder, or - for stdin')
    .option('--force', 'replace a server of the same name')
    .option('--no-browser', 'for a sign-in at the server print the URL alone')
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

  program
    .command('import <file> [name...]')
    .description('Register the servers of another client’s configuration: mcp.json in any form, server.json, or -')
    .option('--dry-run', 'only tell what would be registered')
    .option('--force', 'replace servers of the same names')
    .action(run(async () => (await import('../actions/import.ts')).importFile))

  program
    .command('connect <client>')
    .description(`Point a client at the gateway: ${CLIENTS.join(', ')}`)
    .option('--group <name>', 'at the endpoint of this group')
    .option('--name <name>', 'what the client calls the gateway', PRODUCT)
    .option('--token-variable <name>', 'where the client finds its token', 'TOWPATH_CLIENT_TOKEN')
    .option('--print', 'tell how; nothing is changed (default)')
    .option('--write', 'change the file of the client, after a copy of it, and show the change')
    .option('--token-stdin', 'for a client that reads no variables: the token for its file')
    .action(run(async () => (await import('../actions/connect.ts')).connect))
}
