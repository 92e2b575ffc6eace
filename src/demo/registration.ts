import { fileURLToPath } from 'node:url'
import { TITLE } from '../domain/product.ts'

/** The registration (contract 2.2) of the bundled demo server, started the way this very process was: sources or build. */
export function demoRegistration() {
  const fromSource = import.meta.url.endsWith('.ts')
  const script = fileURLToPath(new URL(fromSource ? './server.ts' : './server.js', import.meta.url))
  return {
    name: 'demo',
    transport: 'stdio' as const,
    session_mode: 'stateless' as const,
    description: `Bundled with ${TITLE}: small, harmless tools to try things out`,
    command: process.execPath,
    args: fromSource ? ['--import', import.meta.resolve('tsx'), script] : [script]
  }
}
