import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ask, type Headers } from '../requests.ts'
import { labelOf, npmPackage, pipPackage } from './install.ts'

/** Server behind a gateway. */
export type Upstream =
  { readonly kind: 'http'; readonly url: string } | { readonly kind: 'stdio'; readonly command: readonly string[] }

/** A process to start, and how to call it. */
export interface Program {
  readonly command: readonly [string, ...string[]]
  readonly env?: NodeJS.ProcessEnv
  /** Path of the MCP endpoint; the default is `/mcp`. */
  readonly path?: string
  /** Headers of every request. */
  readonly headers?: Headers
  /** Name of the server's tool `echo`. */
  readonly tool: string
  /** Registers the upstream once the program answers, if it has no file for that. */
  readonly register?: (url: string) => Promise<void>
  /** Path that answers before the upstream is registered; needed with `register`. */
  readonly health?: string
}

export interface Peer {
  readonly name: string
  /** Name and version, for the page. */
  readonly about: string
  readonly kinds: readonly Upstream['kind'][]
  /** Installs the program if needed. `folder`: an empty one. Rejects if it cannot be installed. */
  program(upstream: Upstream, port: number, folder: string): Promise<Program>
}

const quoted = (command: readonly string[]) => command.map((part) => `'${part}'`).join(' ')
const commandOf = (upstream: Upstream) => (upstream.kind === 'stdio' ? upstream.command : [])

/** Writes the file in which most MCP clients name their servers. */
function writeServers(path: string, upstream: Upstream): string {
  const [command, ...args] = commandOf(upstream)
  const srv = upstream.kind === 'http' ? { url: upstream.url } : { command, args }
  writeFileSync(path, JSON.stringify({ mcpServers: { srv } }))
  return path
}

const supergateway = (name: string, more: readonly string[]): Peer => ({
  name,
  about: labelOf('npm', 'supergateway'),
  kinds: ['stdio'],
  async program(upstream, port) {
    const main = join(await npmPackage('supergateway'), 'dist/index.js')
    const stdio = ['--stdio', quoted(commandOf(upstream)), '--outputTransport', 'streamableHttp']
    const args = [...stdio, '--port', String(port), '--logLevel', 'none', ...more]
    return { command: [process.execPath, main, ...args], tool: 'echo' }
  }
})

const npmMcpProxy: Peer = {
  name: 'mcp-proxy (npm)',
  about: labelOf('npm', 'mcp-proxy'),
  kinds: ['stdio'],
  async program(upstream, port) {
    const main = join(await npmPackage('mcp-proxy'), 'dist/bin/mcp-proxy.mjs')
    const args = ['--host', '127.0.0.1', '--port', String(port), '--', ...commandOf(upstream)]
    return { command: [process.execPath, main, ...args], tool: 'echo' }
  }
}

const pipMcpProxy: Peer = {
  name: 'mcp-proxy (pip)',
  about: labelOf('pip', 'mcp-proxy'),
  kinds: ['stdio'],
  async program(upstream, port) {
    const program = join(await pipPackage('mcp-proxy'), 'mcp-proxy')
    const args = ['--port', String(port), '--log-level', 'ERROR', '--', ...commandOf(upstream)]
    return { command: [program, ...args], path: '/mcp/', tool: 'echo' }
  }
}

const fastMcp: Peer = {
  name: 'FastMCP proxy',
  about: labelOf('pip', 'fastmcp'),
  kinds: ['http', 'stdio'],
  async program(upstream, port, folder) {
    const program = join(await pipPackage('fastmcp'), 'fastmcp')
    const file = writeServers(join(folder, 'mcp.json'), upstream)
    const args = ['run', file, '--transport', 'http', '--port', String(port), '--no-banner', '--log-level', 'ERROR']
    return { command: [program, ...args], tool: 'echo' }
  }
}

const SECRET = 'a secret of the benchmark, at least 32 characters'
const ADMIN = 'admin@example.com'

/** Settings with which ContextForge accepts a server on this machine and as many calls as come. */
const contextForgeEnv = (folder: string): NodeJS.ProcessEnv => ({
  HOME: folder,
  DATABASE_URL: `sqlite:///${join(folder, 'mcp.db')}`,
  CACHE_TYPE: 'memory',
  JWT_SECRET_KEY: SECRET,
  AUTH_ENCRYPTION_SECRET: SECRET,
  PLATFORM_ADMIN_EMAIL: ADMIN,
  PLATFORM_ADMIN_PASSWORD: 'Only-here-1234',
  PASSWORD_CHANGE_ENFORCEMENT_ENABLED: 'false',
  RATE_LIMITING_ENABLED: 'false',
  SSRF_PROTECTION_ENABLED: 'false',
  MCPGATEWAY_UI_ENABLED: 'false',
  PLUGINS_ENABLED: 'false',
  LOG_LEVEL: 'ERROR'
})

const contextForge: Peer = {
  name: 'ContextForge',
  about: labelOf('pip', 'mcp-contextforge-gateway'),
  kinds: ['http'],
  async program(upstream, port, folder) {
    const programs = await pipPackage('mcp-contextforge-gateway')
    const env = contextForgeEnv(folder)
    const claims = ['--username', ADMIN, '--admin', '--exp', '600', '--secret', SECRET]
    const create = ['-m', 'mcpgateway.utils.create_jwt_token', ...claims]
    const { stdout } = await promisify(execFile)(join(programs, 'python'), create, { env, cwd: folder })
    const headers = { authorization: `Bearer ${stdout.trim().split('\n').at(-1)!}` }
    return {
      command: [join(programs, 'mcpgateway'), '--host', '127.0.0.1', '--port', String(port)],
      env,
      headers,
      path: '/mcp/',
      tool: 'srv-echo',
      health: '/health',
      async register(url) {
        const server = { name: 'srv', url: upstream.kind === 'http' ? upstream.url : '', transport: 'STREAMABLEHTTP' }
        await (await ask(`${url}/gateways`, 'POST', headers, server)).text()
      }
    }
  }
}

/** A gateway that no registry of packages publishes, as the file of `BENCH_PEERS` describes it. */
interface GivenPeer {
  readonly name: string
  readonly about?: string
  readonly kinds: readonly Upstream['kind'][]
  /** Gets PORT, FOLDER, and UPSTREAM_URL or UPSTREAM_COMMAND (for a shell) as environment variables. */
  readonly command: readonly [string, ...string[]]
  readonly path?: string
  readonly headers?: Headers
  readonly tool: string
}

const givenPeer = ({ name, about = name, kinds, command, path, headers, tool }: GivenPeer): Peer => ({
  name,
  about,
  kinds,
  program(upstream, port, folder) {
    const server =
      upstream.kind === 'http' ? { UPSTREAM_URL: upstream.url } : { UPSTREAM_COMMAND: quoted(upstream.command) }
    const env = { HOME: folder, PORT: String(port), FOLDER: folder, ...server }
    return Promise.resolve({ command, env, tool, ...(path && { path }), ...(headers && { headers }) })
  }
})

/** Returns the peers that package registries publish, then those of the file that `BENCH_PEERS` names. */
export function allPeers(): Peer[] {
  const file = process.env.BENCH_PEERS
  const given = file === undefined ? [] : (JSON.parse(readFileSync(file, 'utf8')) as GivenPeer[])
  return [
    contextForge,
    fastMcp,
    npmMcpProxy,
    pipMcpProxy,
    supergateway('supergateway', []),
    supergateway('supergateway --stateful', ['--stateful']),
    ...given.map(givenPeer)
  ]
}
