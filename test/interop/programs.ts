import { delimiter, join } from 'node:path'
import { type Toolchain, buildFolder, here, offer } from './toolchains.ts'

export const transports = ['http', 'sse', 'stdio'] as const
export type Transport = (typeof transports)[number]

/** A third-party client with one way to connect. */
export interface Client {
  readonly name: string
  readonly toolchain: Toolchain
  readonly command: readonly string[]
  readonly transports: readonly Transport[]
}

/** A third-party server. */
export interface Server {
  readonly name: string
  readonly toolchain: Toolchain
  readonly command: readonly string[]
  readonly transports: readonly Transport[]
  /** Name of the equivalent server without OAuth, used for the direct connection. */
  readonly withoutOAuth?: string
}

const everywhere = ['http', 'sse', 'stdio'] as const

const python = (toolchain: Toolchain, program: string, ...args: string[]) => ({
  toolchain,
  command: [join(buildFolder(toolchain), 'bin/python'), join(here, 'python', program), ...args]
})

const node = (program: string, ...args: string[]) => ({
  toolchain: 'node' as const,
  command: [process.execPath, join(here, 'typescript', program), ...args]
})

const go = (...args: string[]) => ({ toolchain: 'go' as const, command: [join(buildFolder('go'), 'interop'), ...args] })

const java = (program: string) => {
  const classes = [join(buildFolder('java'), 'target/classes'), join(buildFolder('java'), 'target/dependency/*')].join(
    delimiter
  )
  return {
    toolchain: 'java' as const,
    command: ['java', '-cp', classes, `towpath.interop.${program}`, '--offer', offer]
  }
}

const signedIn = (withoutOAuth: string) => ({ transports: ['http'] as const, withoutOAuth })

export const clients: readonly Client[] = [
  { name: 'python-1', ...python('python-1', 'client_v1.py'), transports: everywhere },
  { name: 'python-2', ...python('python-2', 'client_v2.py', '--mode', 'auto'), transports: everywhere },
  { name: 'python-2-legacy', ...python('python-2', 'client_v2.py', '--mode', 'legacy'), transports: everywhere },
  { name: 'fastmcp-3', ...python('fastmcp-3', 'client_fastmcp.py'), transports: everywhere },
  { name: 'fastmcp-4', ...python('fastmcp-4', 'client_fastmcp.py'), transports: everywhere },
  { name: 'go-sdk', ...go('client', 'go-sdk'), transports: everywhere },
  { name: 'go-sdk-legacy', ...go('client', 'go-sdk', '--mode', 'legacy'), transports: everywhere },
  { name: 'mcp-go', ...go('client', 'mcp-go'), transports: everywhere },
  { name: 'mcp-go-legacy', ...go('client', 'mcp-go', '--mode', 'legacy'), transports: everywhere },
  { name: 'java', ...java('Client'), transports: everywhere },
  { name: 'typescript-1', ...node('client.mjs', '--sdk', '1'), transports: everywhere },
  { name: 'typescript-2', ...node('client.mjs', '--sdk', '2', '--mode', 'auto'), transports: everywhere },
  { name: 'typescript-2-legacy', ...node('client.mjs', '--sdk', '2'), transports: everywhere }
]

export const servers: readonly Server[] = [
  { name: 'python-1', ...python('python-1', 'server_v1.py'), transports: everywhere },
  { name: 'python-2', ...python('python-2', 'server_v2.py'), transports: everywhere },
  { name: 'python-2-stateless', ...python('python-2', 'server_v2.py', '--stateless'), transports: ['http'] },
  { name: 'fastmcp-3', ...python('fastmcp-3', 'server_fastmcp.py'), transports: everywhere },
  { name: 'fastmcp-4', ...python('fastmcp-4', 'server_fastmcp.py'), transports: everywhere },
  { name: 'fastmcp-3-oauth', ...python('fastmcp-3', 'server_fastmcp.py', '--oauth'), ...signedIn('fastmcp-3') },
  { name: 'fastmcp-4-oauth', ...python('fastmcp-4', 'server_fastmcp.py', '--oauth'), ...signedIn('fastmcp-4') },
  { name: 'go-sdk', ...go('server', 'go-sdk'), transports: everywhere },
  { name: 'go-sdk-stateless', ...go('server', 'go-sdk', '--stateless'), transports: ['http'] },
  { name: 'mcp-go', ...go('server', 'mcp-go'), transports: everywhere },
  { name: 'java', ...java('Server'), transports: everywhere },
  { name: 'typescript-1', ...node('server_v1.mjs'), transports: everywhere }
]
