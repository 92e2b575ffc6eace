import { fileURLToPath } from 'node:url'
import { ask } from '../requests.ts'
import type { Peer, Upstream } from './peers.ts'

const main = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url))

export interface TowpathOptions {
  readonly name: string
  readonly env?: NodeJS.ProcessEnv
  readonly sessionMode?: 'stateless' | 'stateful' | 'shared'
}

const configOf = (upstream: Upstream) => {
  if (upstream.kind === 'http') return { transport: 'streamable_http', url: upstream.url }
  const [command, ...args] = upstream.command
  return { transport: 'stdio', command, args }
}

/** The built gateway, on the embedded store with its defaults, as a peer like any other. */
export const towpath = ({ name, env = {}, sessionMode = 'stateless' }: TowpathOptions): Peer => ({
  name,
  about: name,
  kinds: ['http', 'stdio'],
  program: (upstream, port, folder) =>
    Promise.resolve({
      command: [process.execPath, main, 'start'],
      env: { NODE_ENV: 'production', HOST: '127.0.0.1', PORT: String(port), TOWPATH_DATA_DIR: folder, ...env },
      tool: 'srv__echo',
      health: '/ready',
      async register(url) {
        const server = { name: 'srv', ...configOf(upstream), session_mode: sessionMode }
        await (await ask(`${url}/api/v0/servers`, 'POST', {}, server)).text()
      }
    })
})
