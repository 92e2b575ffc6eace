import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { addCleanup, tempDir } from '../store.ts'
import { root, startGateway } from './harness.ts'

const good = join(root, 'test/fixtures/stdio/good.mjs')
/** Lists its descriptors, then becomes the server by exec; `ls` itself adds one for the folder. */
const listing = 'ls -l /proc/self/fd >> "$OUT"; exec "$0" "$1"'
/**
 * Leaves a file, a pipe, a connection and a socket pair open, as a supervisor may. The numbers are far apart, since
 * Node itself closes consecutive ones. They are opened in this order.
 */
const supervisor = 'exec 9<"$1" 40< <(:) 60<>"/dev/tcp/127.0.0.1/$2" 251<&3 3<&-; shift 2; exec "$@"'

test('CR-A9: a stdio server has its three pipes and nothing that the gateway inherited, neither file nor pipe nor socket', async (t) => {
  const folder = await tempDir(t)
  const [secret, OUT] = [join(folder, 'secret'), join(folder, 'descriptors')]
  await writeFile(secret, 'MASTERKEY')
  const peer = createServer().listen(0, '127.0.0.1')
  addCleanup(t, () => void peer.close())
  await once(peer, 'listening')
  const gateway = await startGateway(t, {
    launcher: ['bash', '-c', supervisor, 'bash', secret, String((peer.address() as AddressInfo).port)],
    stdio: ['ignore', 'pipe', 'pipe', 'pipe']
  })
  for (const session_mode of ['stateless', 'stateful']) {
    const started = { command: 'sh', args: ['-c', listing, process.execPath, good], env: { OUT } }
    await gateway.register({ name: session_mode, transport: 'stdio', session_mode, ...started })
    const answer = await gateway.post('/api/v0/tools/invoke', { name: `${session_mode}__pid` })
    assert.equal(answer.status, 200, answer.text)
  }
  const links = [...(await readFile(OUT, 'utf8')).matchAll(/ (\d+) -> (.*)$/gm)].map(([, name, to]) => ({ name, to }))
  assert.ok(links.length >= 4 * 4, 'each of the processes has listed its descriptors')
  const foreign = links.filter(({ name, to }) => !['0', '1', '2'].includes(name!) && !/^\/proc\/\d+\/fd$/.test(to!))
  assert.deepEqual(foreign, [], 'nothing but input, output and errors')
})
