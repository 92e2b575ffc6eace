import { fileURLToPath } from 'node:url'
import { TITLE } from '../domain/product.ts'

const description = `Bundled with ${TITLE}: small, harmless tools to try things out`

/**
 * Returns the registration (http-contract.md#registration-input) of the bundled demo server, which runs from sources or
 * from the build like this process.
 */
export function demoRegistration() {
  const fromSource = import.meta.url.endsWith('.ts')
  const script = fileURLToPath(new URL(fromSource ? './server.ts' : './demo/server.js', import.meta.url))
  return {
    name: 'demo',
    transport: 'stdio' as const,
    session_mode: 'stateless' as const,
    description,
    command: process.execPath,
    args: fromSource ? ['--import', import.meta.resolve('tsx'), script] : [script]
  }
}

/** The members of a registration that identify the demo server. */
interface Registration {
  readonly transport: string
  readonly description?: string
  readonly command?: string
  readonly args?: readonly string[]
}

/** True for a registration of the bundled demo server, also by an installation at another path. */
export function isDemoRegistration({ transport, command = '', args = [], ...given }: Registration): boolean {
  if (transport !== 'stdio' || given.description !== description) return false
  const isNode = /(^|[\\/])node(\.exe)?$/i.test(command)
  const isOurForm = args.length === 1 || (args.length === 3 && args[0] === '--import')
  return isNode && isOurForm && /[\\/]src[\\/]demo[\\/]server\.[jt]s$/.test(args.at(-1)!)
}
