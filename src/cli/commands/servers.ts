import type { Command } from 'commander'
import { CLIENTS, FILE_CLIENTS } from '../../domain/clients/clients.ts'
import { PRODUCT } from '../../domain/product.ts'
import type { Runner } from '../io/runner.ts'

export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/** Adds the commands for servers. */
export function addServers(program: Command, run: Runner): void {
  program
    .command('register [name] [command...]')
    .alias('add')
    .description(
      'Register a server: NAME --url URL, NAME -- COMMAND ARGS…, -c FILE, or what its documentation shows as one text in quotation marks (a URL, a command line, `claude mcp add …`, an mcp.json, an install link), or - to read that from stdin'
    )
    .option('--name <name>', 'name of the server')
    .option('--url <url>', 'URL of an HTTP or SSE server')
    .option('--transport <transport>', 'stdio, streamable_http or sse; detected by default')
    .option('--description <text>', 'description of the server')
    .option(
      '--header <name: value>',
      'header sent to the server; ${VAR} is replaced from the environment; repeatable',
      collect
    )
    .option(
      '--env <NAME[=value]>',
      'variable of a stdio server; without a value it is copied from the environment; repeatable',
      collect
    )
    .option('--bearer-token-stdin', 'read the bearer token for the server from stdin')
    .option('--bearer-token <token>', 'bearer token on the command line, visible to other users of this machine')
    .option('--session-mode <mode>', 'session mode: stateless, stateful or shared')
    .option('--oauth-assume-pkce', 'use PKCE S256 even if the authorization server does not advertise it')
    .option('--no-apps', 'serve the tools of the server without their interfaces (MCP Apps)')
    .option('--trusted-annotations', 'let allow policies go by the annotations of its tools, such as readOnlyHint')
    .option('-c, --conf <file>', 'JSON or YAML file with one registration or an array, a folder, or - for stdin')
    .option('--force', 'replace a server with the same name')
    .option('--save-disabled', 'save a server that does not answer, disabled and without tools')
    .option('--no-browser', 'only print the sign-in URL, without opening a browser')
    .action(run(async () => (await import('../actions/register.ts')).register))

  program
    .command('deregister <name>')
    .alias('rm')
    .description('Remove a server and its tools, prompts and resources')
    .action(run(async () => (await import('../actions/remove.ts')).removeServer))

  program
    .command('refresh <server>')
    .description('Re-read the tools, prompts and resources of a server')
    .action(run(async () => (await import('../actions/refresh.ts')).refresh))

  program
    .command('test <server>')
    .description('Test a server: connect and read its lists')
    .action(run(async () => (await import('../actions/refresh.ts')).testServer))

  program
    .command('import [file] [name...]')
    .description(
      'Import servers from a file, or - for stdin: the mcp.json of any client, a server.json, command lines, an install link or a URL; or --client CLIENT [name...]'
    )
    .option('--client <client>', `import from the files of this client instead: ${FILE_CLIENTS.join(', ')}`)
    .option('--dry-run', 'show what would be registered')
    .option('--force', 'replace servers with the same names')
    .action(run(async () => (await import('../actions/import.ts')).importFile))

  program
    .command('setup')
    .description('Register the servers of all MCP clients of this machine, and point the clients at the gateway')
    .option(
      '--client <client>',
      `only this client, which may have no file yet; repeatable: ${FILE_CLIENTS.join(', ')}`,
      collect
    )
    .option('--dry-run', 'show the plan without changing anything')
    .option('--undo', 'restore the files of the last set-up, and remove the servers that it registered')
    .action(run(async () => (await import('../setup/setup.ts')).setup))

  program
    .command('connect <client>')
    .description(`Connect a client to the gateway: ${CLIENTS.join(', ')}`)
    .option('--group <name>', 'use the endpoint of this group')
    .option('--name <name>', 'name of the gateway in the client', PRODUCT)
    .option('--token-variable <name>', 'variable from which the client reads its token', 'TOWPATH_CLIENT_TOKEN')
    .option('--print', 'print the configuration without changing a file (default)')
    .option('--write', 'back up and change the client’s configuration file, and show the change')
    .option('--token-stdin', 'read the token from stdin, for a client that cannot read variables')
    .action(run(async () => (await import('../connect/connect.ts')).connect))

  program
    .command('stdio')
    .description('Use the gateway from an MCP client that can only start commands: JSON-RPC lines on stdin and stdout')
    .option('--group <name>', 'use the endpoint of this group')
    .action(run(async () => (await import('../stdio/stdio.ts')).stdio))
}
