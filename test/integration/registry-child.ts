import { openRegistry } from '../../src/registry/registry.ts'
import { limits, quiet } from '../templates.ts'
import { change, httpServer, offerOf, tool } from './registry-helpers.ts'

/**
 * Runs as a separate process: `hold` opens a registry and stays, `pass` closes it again, `write` registers until it is
 * killed.
 */
const [task, place] = process.argv.slice(2) as [string, string]
const registry = await openRegistry({
  ...limits,
  ...quiet,
  mode: 'development',
  ...(JSON.parse(place) as { dataDir: string })
})
await registry.follow(() => {})
process.stdout.write('open\n')

if (task === 'pass') await registry.close()
if (task === 'hold') setInterval(() => {}, 60_000)
if (task === 'write') {
  const offer = offerOf(Array.from({ length: 200 }, (_, index) => tool(`tool${index}`)))
  for (;;) {
    const name = `s${crypto.randomUUID()}`
    await registry.write(change('server.create', name), (tx) => tx.servers.create(httpServer(name), offer))
    process.stdout.write(`${name}\n`)
  }
}
