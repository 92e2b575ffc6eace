import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSkillFolders } from '../../src/catalog/items/skill-folders.ts'

const folders = createSkillFolders([
  { kind: 'skill', name: 'skill://team/refunds/SKILL.md', enabled: true },
  { kind: 'skill', name: 'skill://team/SKILL.md', enabled: false }
])

test('the folder of a URI is found, also of one with thousands of parts, in a time that nobody notices', () => {
  assert.equal(folders.stateOf('skill://team/refunds/a/b.md'), 'enabled')
  assert.equal(folders.stateOf('skill://team/refunds'), 'enabled')
  assert.equal(folders.stateOf('skill://team/other.md'), 'disabled')
  assert.equal(folders.stateOf('skill://teams/other.md'), undefined)
  const deep = `skill://${'a/'.repeat(4_000)}`
  const startedAt = process.cpuUsage().user
  for (let i = 0; i < 100; i++) assert.equal(folders.stateOf(`${deep}${i}`), undefined)
  const ms = (process.cpuUsage().user - startedAt) / 1_000
  // a search for each part takes some seconds
  assert.ok(ms < 1_000, `${ms} ms`)
})
