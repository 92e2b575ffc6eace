import assert from 'node:assert/strict'
import test from 'node:test'
import { createClientActivity } from '../../src/observe/client-activity.ts'

test('a client is known by its name on each endpoint, the newest first', () => {
  const visitors = createClientActivity()
  const first = visitors.recordClient('/mcp', { name: 'one', version: '1' })!
  first.seenAt -= 1_000
  visitors.recordClient('/v0/groups/a/mcp', { name: 'one', version: '2' })
  const told = () => visitors.listClients().map(({ endpoint, name, version }) => [endpoint, name, version])
  assert.deepEqual(told(), [
    ['/v0/groups/a/mcp', 'one', '2'],
    ['/mcp', 'one', '1']
  ])
  visitors.recordClient('/mcp', { name: 'one', version: 3 })
  assert.equal(visitors.recordClient('/mcp', { name: 'one' }), first)
  assert.equal(first.version, undefined)
  assert.deepEqual(
    visitors.listClients((endpoint) => endpoint === '/mcp').map(({ name }) => name),
    ['one']
  )
})

test('what is no name is nobody, long texts are cut, and the longest gone of many is forgotten', () => {
  const visitors = createClientActivity()
  for (const info of [undefined, null, 'one', [], {}, { name: '' }, { name: 7 }])
    assert.equal(visitors.recordClient('/mcp', info), null)
  assert.equal(visitors.recordClient('/mcp', { name: 'n'.repeat(500) })!.name.length, 80)
  for (let at = 0; at < 30; at++) visitors.recordClient('/mcp', { name: `client ${at}` })!.seenAt = at
  const names = visitors.listClients().map(({ name }) => name)
  assert.equal(names.length, 20)
  assert.ok(names.includes('client 29') && !names.includes('client 5'))
})

test('when an endpoint was used is known without a name, and forgotten with its group', () => {
  const visitors = createClientActivity()
  assert.equal(visitors.lastUsedAt(), undefined)
  visitors.recordRequest('/v0/groups/a/mcp')
  visitors.recordClient('/v0/groups/a/sse', { name: 'one' })
  visitors.recordRequest('/v0/groups/ab/mcp')
  visitors.forgetGroup('a')
  assert.deepEqual(
    [visitors.listClients(), visitors.lastUsedAt((endpoint) => endpoint.includes('/a/'))],
    [[], undefined]
  )
  assert.ok(visitors.lastUsedAt()! > 0)
})
