import assert from 'node:assert/strict'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { findExecutable } from '../../src/upstream/stdio/command.ts'
import { tempDir } from '../store.ts'

test('a command that moves to another folder of PATH is found there, and one that cannot be run any more is refused', async (t) => {
  const folder = await tempDir(t)
  const [first, second] = [join(folder, 'first'), join(folder, 'second')]
  const path = `${first}:${second}`
  for (const each of [first, second]) {
    await mkdir(each)
    await writeFile(join(each, 'server'), '', { mode: 0o755 })
  }
  const find = () => findExecutable('server', path, folder)
  assert.deepEqual([await find(), await find()], [join(first, 'server'), join(first, 'server')])
  await rm(join(first, 'server'))
  assert.equal(await find(), join(second, 'server'))
  await chmod(join(second, 'server'), 0o644)
  await assert.rejects(find(), /is not executable/)
})
