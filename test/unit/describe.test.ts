import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capabilitiesOf, instructionsOf as maybeInstructionsOf } from '../../src/gateway/downstream/describe.ts'
import { globalScope, scopeAt, type Scope } from '../../src/gateway/scope.ts'
import type { StoredServer, Verdict } from '../../src/registry/model.ts'
import { catalogOf, legacyVerdict, prompt, storedGroup, storedServer, tool } from './stored.ts'

const server = (name: string, verdict: Partial<Verdict>, more: Partial<StoredServer> = {}) =>
  storedServer(name, [], { verdict: { ...legacyVerdict, ...verdict }, ...more })
const scopeOf = (...servers: StoredServer[]) => globalScope(catalogOf(servers))
const instructionsOf = (scope: Scope) => maybeInstructionsOf(scope)!

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

test('subscriptions to resources are declared where some enabled server takes them', () => {
  const taking = { resources: { subscribe: true } }
  const resourcesOf = (...servers: StoredServer[]) => capabilitiesOf(scopeOf(...servers)).resources
  assert.deepEqual(resourcesOf(server('a', { capabilities: { resources: { subscribe: false } } })), {
    listChanged: true
  })
  assert.deepEqual(resourcesOf(server('a', { capabilities: taking }, { enabled: false })), { listChanged: true })
  assert.deepEqual(resourcesOf(server('a', {}), server('b', { capabilities: taking })), {
    listChanged: true,
    subscribe: true
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

const both = (verdict: Partial<Verdict>) => [
  storedServer('a', [tool('t'), prompt('p')], { verdict: { ...legacyVerdict, ...verdict } }),
  storedServer('b', [tool('t')], {
    verdict: { ...legacyVerdict, instructions: 'Of b', capabilities: { completions: {} } }
  })
]

test('a group speaks of the servers that it takes something of, and completes only for those that it holds whole', () => {
  const servers = both({ instructions: 'Of a' })
  const at = (more: object) => scopeAt(catalogOf(servers, '1', [storedGroup('g', more)]), 'g')
  const of = (more: object) => [
    instructionsOf(at(more)).split('\n\n').slice(1),
    Object.keys(capabilitiesOf(at(more))).includes('completions')
  ]
  assert.deepEqual(of({ included_tools: ['b__t'] }), [['## b\nOf b'], false])
  assert.deepEqual(of({ included_servers: ['b'] }), [['## b\nOf b'], true])
  assert.deepEqual(of({ included_servers: ['a'], included_tools: ['b__t'] }), [['## a\nOf a', '## b\nOf b'], false])
  assert.deepEqual(of({ included_tools: ['b__t', 'a__gone'], excluded_tools: ['b__t'] }), [[], false])
})

test('a bare group speaks in the words of its server, verbatim, and declares what that server declares', () => {
  const at = (verdict: Partial<Verdict>) => {
    const bare = storedGroup('g', { included_servers: ['a'], tool_names: 'bare' })
    return scopeAt(catalogOf(both(verdict), '1', [bare]), 'g')
  }
  const long = `ü${'x'.repeat(9_000)}`
  assert.equal(maybeInstructionsOf(at({ instructions: long })), long)
  assert.equal(maybeInstructionsOf(at({ instructions: null })), undefined)
  assert.deepEqual(capabilitiesOf(at({ capabilities: { tools: {}, tasks: {} } })), { tools: { listChanged: true } })
  assert.deepEqual(
    capabilitiesOf(at({ capabilities: { prompts: {}, completions: {}, resources: { subscribe: true } } })),
    {
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {}
    }
  )
})
