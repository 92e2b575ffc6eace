import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { runnerFlags } from '../run-flags.ts'

const file = `
import { test } from 'node:test'
const forever = () => new Promise(() => setInterval(() => {}, 1_000))
test('hangs', forever)
test('has a step that hangs', (t) => t.test('step', forever))
test('comes last', () => {})`

test('a test that hangs fails by its own name, and those behind it run', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'towpath-limit-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'hangs.test.mjs')
  writeFileSync(path, file)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { stdout, status } = spawnSync(process.execPath, [...runnerFlags, '--test-reporter=tap', path], {
    env: { ...env, TEST_LIMIT_MS: '500' },
    encoding: 'utf8'
  })
  assert.deepEqual(
    stdout.match(/^(not )?ok .*/gm)?.map((line) => line.replace(/^((not )?ok) \d+ - /, '$1: ')),
    ['not ok: hangs', 'not ok: has a step that hangs', 'ok: comes last'],
    stdout
  )
  assert.match(stdout, /test timed out after 500ms/)
  assert.equal(status, 1)
})
