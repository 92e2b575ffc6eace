import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runChaos } from '../soak/approvals/chaos.ts'
import { freshDatabase } from '../store.ts'
import { skip } from './enterprise.ts'

test(
  'AP-06 while replicas are killed no call reaches its server without its yes, and none runs twice',
  { skip },
  async (t) => {
    const outcome = await runChaos(t, { databaseUrl: await freshDatabase(t), runs: 16, seed: 7, callsPerKill: 16 })
    assert.deepEqual(outcome.problems, [])
    assert.ok(outcome.reached > 0 && outcome.reached <= outcome.yeses, JSON.stringify(outcome))
  }
)
