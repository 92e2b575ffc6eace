import { fileURLToPath } from 'node:url'
import { TITLE } from '../domain/product.ts'

const description = `Bundled with ${TITLE}: small, harmless tools to try things out`

/**
 * The registration (http-contract.md#registration-input) of the bundled demo server, started the way this very process
 * was: sources or build.
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

/** A registration as far as it tells whose it is. */
interface Registration {
  readonly transport: string
  readonly description?: string
  readonly command?: string
  readonly args?: readonly string[]
}

/** Whether a registration is the bundled demo server's: this installation's, or one's at another path. */
export function isDemoRegistration({ transport, command = '', args = [], ...given }: Registration): boolean {
  if (transport !== 'stdio' || given.description !== description) return false
  const isNode = /(^|[\\/])node(\.exe)?$/i.test(command)
  const isOurForm = args.length === 1 || (args.length === 3 && args[0] === '--import')
  return isNode && isOurForm && /[\\/]src[\\/]demo[\\/]server\.[jt]s$/.test(args.at(-1)!)
}
