import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runServerSide } from '../conformance/auth/server-side.ts'
import { start } from '../conformance/processes.ts'
import { addCleanup, tempDir } from '../store.ts'

test('IA-06 the official suite passes every check of an authorization server', async (t) => {
  const folder = await tempDir(t)
  const counts = await runServerSide((...command) => {
    const started = start(...command)
    addCleanup(t, () => started.stop())
    return started
  }, folder)
  assert.deepEqual(counts, { passed: 3, all: 3 })
})
