import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capabilitiesOf, instructionsOf } from '../../src/gateway/downstream/describe.ts'
import { globalScope } from '../../src/gateway/scope.ts'
import type { StoredServer, Verdict } from '../../src/registry/model.ts'
import { catalogOf, legacyVerdict, storedServer } from './stored.ts'

const server = (name: string, verdict: Partial<Verdict>, more: Partial<StoredServer> = {}) =>
  storedServer(name, [], { verdict: { ...legacyVerdict, ...verdict }, ...more })
const scopeOf = (...servers: StoredServer[]) => globalScope(catalogOf(servers))

test('lists are always declared, completion only where some enabled server has it, and nothing that is not carried', () => {
  const lists = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true } }
  assert.deepEqual(capabilitiesOf(scopeOf()), lists)
  const all = { tools: {}, completions: {}, tasks: {}, experimental: {}, extensions: { x: {} } }
  assert.deepEqual(capabilitiesOf(scopeOf(server('a', { capabilities: all }, { enabled: false }))), lists)
  assert.deepEqual(capabilitiesOf(scopeOf(server('a', {}), server('b', { capabilities: all }))), {
    ...lists,
    completions: {}
  })
})

test('instructions are ours and then those of each server that has some, under its name, in order', () => {
  const text = instructionsOf(
    scopeOf(
      server('b', { instructions: 'Second' }),
      server('a', { instructions: 'First' }),
      server('c', {}),
      server('d', { instructions: '' })
    )
  )
  const [about, ...sections] = text.split('\n\n')
  assert.match(about!, /two underscores/)
  assert.deepEqual(sections, ['## a\nFirst', '## b\nSecond'])
})

test('instructions are cut at 8 KiB of UTF-8, not within a character', () => {
  for (const given of [`x${'ü'.repeat(5_000)}`, `x${'😀'.repeat(5_000)}`, 'x'.repeat(9_000)]) {
    const text = instructionsOf(scopeOf(server('a', { instructions: given })))
    const section = text.slice(text.indexOf('## a\n') + 5)
    assert.ok(given.startsWith(section))
    const bytes = Buffer.byteLength(section)
    assert.ok(bytes <= 8_192 && bytes > 8_188, String(bytes))
  }
  const whole = 'x'.repeat(8_192)
  assert.ok(instructionsOf(scopeOf(server('a', { instructions: whole }))).endsWith(`## a\n${whole}`))
})
