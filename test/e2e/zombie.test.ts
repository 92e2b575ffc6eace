import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshPlace } from '../store.ts'
import { until } from '../until.ts'
import { restart, startGateway } from './harness.ts'
import { needs } from '../needs.ts'

const stateOf = (pid: number) => /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]

test(
  'CR-A3: a killed gateway whose parent has not noticed its end leaves the data folder to the next one',
  { skip: needs('/proc', existsSync('/proc/self/status')) },
  async (t) => {
    // starts the gateway, then becomes a program that never reaps it
    const launcher = ['sh', '-c', '"$@" & exec sleep 600', 'sh']
    const first = await startGateway(t, { place: await freshPlace(t, 'pglite'), launcher })
    const { pid } = JSON.parse(readFileSync(join(first.place.dataDir, 'lock'), 'utf8')) as { pid: number }
    process.kill(pid, 'SIGKILL')
    await until('its end', () => stateOf(pid) === 'Z')
    const second = await restart(t, first)
    assert.equal((await second.get('/api/v0/servers')).status, 200, 'the next one serves')
    assert.equal(stateOf(pid), 'Z', 'the first one is still not buried')
  }
)
