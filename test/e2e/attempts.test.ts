import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { firstOf } from '../matrix.ts'
import { engines, freshPlace, tempDir } from '../store.ts'
import { until } from '../until.ts'
import { restart, startGateway } from './harness.ts'

for (const engine of firstOf(engines)) {
  test(`SR-H4 a gateway that is killed while a command runs leaves its attempt without an outcome (${engine})`, async (t) => {
    const marker = join(await tempDir(t), 'ran')
    const gateway = await startGateway(t, { place: await freshPlace(t, engine) })
    const server = { name: 'fd', transport: 'stdio', command: '/bin/sh', args: ['-c', 'touch "$0"; sleep 30', marker] }
    const answer = gateway.post('/api/v0/servers', server).catch(() => undefined)
    await until('the command runs', () => existsSync(marker))
    await gateway.stop('SIGKILL')
    await answer
    const again = await restart(t, gateway)
    const { body } = await again.get('/api/v0/audit?target=fd')
    assert.deepEqual(
      (body.entries as { action: string; outcome: string }[]).map(({ action, outcome }) => [action, outcome]),
      [['server.attempt', 'begun']]
    )
  })
}
