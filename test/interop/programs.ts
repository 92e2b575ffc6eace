import { join } from 'node:path'
import { type Toolchain, built, here } from './toolchains.ts'

export const transports = ['http', 'sse', 'stdio'] as const
export type Transport = (typeof transports)[number]

/** A foreign client in one of the ways in which it can connect. */
export interface Client {
  readonly name: string
  readonly toolchain: Toolchain
  readonly command: readonly string[]
  readonly transports: readonly Transport[]
}

/** A foreign server. */
export interface Server {
  readonly name: string
  readonly toolchain: Toolchain
  readonly command: readonly string[]
  readonly transports: readonly Transport[]
}

const everywhere = ['http', 'sse', 'stdio'] as const

const python = (toolchain: Toolchain, program: string, ...args: string[]) => ({
  toolchain,
  command: [join(built(toolchain), 'bin/python'), join(here, 'python', program), ...args]
})

const node = (program: string, ...args: string[]) => ({
  toolchain: 'node' as const,
  command: [process.execPath, join(here, 'typescript', program), ...args]
})

const go = (...args: string[]) => ({ toolchain: 'go' as const, command: [join(built('go'), 'interop'), ...args] })

export const clients: readonly Client[] = [
  { name: 'python-1', ...python('python-1', 'client_v1.py'), transports: everywhere },
  { name: 'python-2', ...python('python-2', 'client_v2.py', '--mode', 'auto'), transports: everywhere },
  { name: 'python-2-legacy', ...python('python-2', 'client_v2.py', '--mode', 'legacy'), transports: everywhere },
  { name: 'go-sdk', ...go('client', 'go-sdk'), transports: everywhere },
  { name: 'go-sdk-legacy', ...go('client', 'go-sdk', '--mode', 'legacy'), transports: everywhere },
  { name: 'mcp-go', ...go('client', 'mcp-go'), transports: everywhere },
  { name: 'mcp-go-legacy', ...go('client', 'mcp-go', '--mode', 'legacy'), transports: everywhere }
]

export const servers: readonly Server[] = [
  { name: 'python-1', ...python('python-1', 'server_v1.py'), transports: everywhere },
  { name: 'python-2', ...python('python-2', 'server_v2.py'), transports: everywhere },
  { name: 'python-2-stateless', ...python('python-2', 'server_v2.py', '--stateless'), transports: ['http'] },
  { name: 'go-sdk', ...go('server', 'go-sdk'), transports: everywhere },
  { name: 'go-sdk-stateless', ...go('server', 'go-sdk', '--stateless'), transports: ['http'] },
  { name: 'mcp-go', ...go('server', 'mcp-go'), transports: everywhere },
  { name: 'typescript-1', ...node('server_v1.mjs'), transports: everywhere }
]
