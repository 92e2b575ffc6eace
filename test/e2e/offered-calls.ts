import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { tempDir } from '../store.ts'
import { startGateway } from './harness.ts'
import { everything, filesystem, memory } from './peers.ts'

/** A call to each kind of upstream, with the expected result. */
export const calls = [
  { name: 'over_stdio__echo', args: { message: 'hi' }, expected: 'Echo: hi' },
  { name: 'over_http__get-sum', args: { a: 2, b: 40 }, expected: 'The sum of 2 and 40 is 42.' },
  { name: 'over_sse__echo', args: { message: 'ho' }, expected: 'Echo: ho' }
]

/** Starts a gateway with server-everything over each transport, the file system server and the memory server. */
export async function openGateway(t: TestContext) {
  const folder = await tempDir(t)
  await writeFile(join(folder, 'note.txt'), 'written by the test')
  const gateway = await startGateway(t)
  const upstreams = {
    over_stdio: await everything(t, 'stdio'),
    over_http: await everything(t, 'streamable_http'),
    over_sse: await everything(t, 'sse'),
    filesystem: filesystem(folder),
    memory: memory(join(folder, 'memory.json'))
  }
  for (const [name, { registration }] of Object.entries(upstreams)) await gateway.register({ ...registration, name })
  const file = { name: 'filesystem__read_text_file', args: { path: join(folder, 'note.txt') } }
  const entities = [{ name: 'towpath', entityType: 'gateway', observations: ['forwards'] }]
  const remember = { name: 'memory__create_entities', args: { entities } }
  return { gateway, file, remember, entities }
}

export const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text
