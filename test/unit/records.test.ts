import assert from 'node:assert/strict'
import { test } from 'node:test'
import { itemRecord, itemRecords, restName } from '../../src/control/item-records.ts'
import { wholeView } from '../../src/control/rest-view.ts'
import { serverRecord } from '../../src/control/server-records.ts'
import type { ItemKind, StoredItem } from '../../src/registry/model/model.ts'
import { callerNamed, catalogOf, prompt, resource, storedServer, template, tool } from './stored.ts'
import { developmentCaller } from '../../src/catalog/caller.ts'

const recordOf = (item: StoredItem, more: { enabled?: boolean } = {}) => {
  const catalog = catalogOf([storedServer('one', [item], more)])
  return itemRecord(wholeView(catalog), catalog.server('one')!.items(item.kind)[0]!)
}

test('a tool record is the definition, complete and byte for byte, in the names of REST', () => {
  const definition =
    '{"na\\u006de":"a","title":"T","inputSchema": {"type":"object","oneOf":[ ],"inputSchema":1.0},"outputSchema":{"n":12345678901234567890},' +
    '"icons":[],"enabled":"theirs","_meta":{"x":1},"execution":{"taskSupport":"optional"},"future":null}'
  assert.equal(
    recordOf(tool('a', { definition })),
    '{"name":"one__a","enabled":true,"title":"T","input_schema":{"type":"object","oneOf":[ ],"inputSchema":1.0},' +
      '"output_schema":{"n":12345678901234567890},"icons":[],"_meta":{"x":1},"execution":{"taskSupport":"optional"},"future":null}'
  )
})

test('prompts, resources and templates are shown in the same way', () => {
  assert.equal(
    recordOf(prompt('p', { definition: '{"name":"p","arguments":[{"name":"a"}]}' })),
    '{"name":"one__p","enabled":true,"arguments":[{"name":"a"}]}'
  )
  assert.equal(
    recordOf(resource('x://1', { definition: '{"uri":"x://1","name":"n","mimeType":"text/plain","size":1}' })),
    '{"uri":"x://1","enabled":true,"name":"n","mime_type":"text/plain","size":1}'
  )
  assert.equal(
    recordOf(template('x://{a}', { definition: '{"uriTemplate":"x://{a}","name":"n","mimeType":"m"}' })),
    '{"uri_template":"x://{a}","enabled":true,"name":"n","mime_type":"m"}'
  )
})

test('a record is valid JSON without repeated members, whatever an upstream calls its own', () => {
  const text = recordOf(tool('a', { definition: '{"name":"a","input_schema":1,"inputSchema":{"type":"object"}}' }))
  assert.equal(text, '{"name":"one__a","enabled":true,"input_schema":{"type":"object"}}')
})

test('a list holds the records of one server, or of all that are enabled, and is made once for a catalog', () => {
  const servers = [
    storedServer('a', [tool('x'), tool('ü', { enabled: false }), prompt('p'), resource('same://1')]),
    storedServer('b', [tool('x'), resource('same://1')]),
    storedServer('off', [tool('x')], { enabled: false })
  ]
  const catalog = catalogOf(servers)
  const expected = (kind: ItemKind, names: readonly string[]) => {
    const items = names.flatMap((name) => catalog.server(name)!.items(kind))
    return `[${items.map((item) => itemRecord(wholeView(catalog), item)).join(',')}]`
  }
  for (const kind of ['tool', 'prompt', 'resource', 'template'] as const) {
    const all = itemRecords(wholeView(catalog), kind)
    assert.equal(all.toString(), expected(kind, ['a', 'b']))
    assert.equal(itemRecords(wholeView(catalog), kind), all)
    for (const name of ['a', 'b'])
      assert.equal(itemRecords(wholeView(catalog), kind, catalog.server(name)).toString(), expected(kind, [name]))
    assert.equal(itemRecords(wholeView(catalog), kind, catalog.server('off')).toString(), '[]')
  }
  const next = catalogOf([servers[0]!, { ...servers[1]!, items: [tool('y')] }], '8')
  assert.deepEqual(
    (JSON.parse(itemRecords(wholeView(next), 'tool').toString()) as { name: string }[]).map(({ name }) => name),
    ['a__x', 'a__ü', 'b__y']
  )
})

test('enabled says that the item can be called: its own switch and its server’s', () => {
  const enabled = (item: StoredItem, server: boolean) =>
    (JSON.parse(recordOf(item, { enabled: server })) as { enabled: boolean }).enabled
  assert.deepEqual(
    [enabled(tool('a'), true), enabled(tool('a'), false), enabled(tool('a', { enabled: false }), true)],
    [true, false, false]
  )
})

test('a resource goes by its alias where that is in force, else by its URI', () => {
  const catalog = catalogOf([
    storedServer('a', [resource('x://1'), resource('x://2', { enabled: false })], { registeredAt: '2026-02-01' }),
    storedServer('b', [resource('x://1'), resource('x://2')], { registeredAt: '2026-01-01' })
  ])
  const name = (server: string, kind: ItemKind, uri: string) =>
    restName(wholeView(catalog), catalog.server(server)!.find(kind, uri)!)
  assert.equal(name('a', 'resource', 'x://1'), 'towpath://a/x://1')
  assert.equal(name('b', 'resource', 'x://1'), 'x://1')
  assert.equal(name('a', 'resource', 'x://2'), 'towpath://a/x://2')
  assert.equal(name('b', 'resource', 'x://2'), 'x://2')
})

test('a template goes by its alias where MCP lists it so, and what is disabled wherever another server offers it', () => {
  const off = { enabled: false }
  const catalog = catalogOf([
    storedServer('a', [template('x://{1}'), template('x://{2}', off), template('x://{3}', off)], {
      registeredAt: '2026-02-01'
    }),
    storedServer('b', [template('x://{1}'), template('x://{2}', off)], { registeredAt: '2026-01-01' })
  ])
  const names = (server: string) =>
    catalog
      .server(server)!
      .items('template')
      .map((item) => (JSON.parse(itemRecord(wholeView(catalog), item)) as { uri_template: string }).uri_template)
  assert.deepEqual(names('a'), ['towpath://a/x://{1}', 'towpath://a/x://{2}', 'x://{3}'])
  assert.deepEqual(names('b'), ['x://{1}', 'towpath://b/x://{2}'])
})

test('a server record holds no secret, and values of the environment for nobody but administrators', () => {
  const secrets = {
    bearer_token: 'tok',
    headers: { 'X-Key': 'key' },
    env: { TOKEN: 'value' },
    oauth_client_secret: 'oauth'
  }
  const http = catalogOf([storedServer('a', [], { description: 'D' })]).server('a')!
  const admin = callerNamed('root', 'admin')
  assert.deepEqual(serverRecord(http, secrets, admin), {
    name: 'a',
    transport: 'streamable_http',
    description: 'D',
    url: 'http://a.test/mcp',
    session_mode: 'stateless',
    enabled: true
  })
  const settings = { command: 'node', args: ['x'] }
  const stdio = catalogOf([storedServer('a', [], { transport: 'stdio', settings, enabled: false })]).server('a')!
  const expected = {
    name: 'a',
    transport: 'stdio',
    command: 'node',
    args: ['x'],
    session_mode: 'stateless',
    enabled: false
  }
  assert.deepEqual(serverRecord(stdio, secrets, admin), { ...expected, env: { TOKEN: 'value' } })
  const development = developmentCaller
  assert.deepEqual(serverRecord(stdio, secrets, development).env, { TOKEN: 'value' })
  assert.deepEqual(serverRecord(stdio, secrets, callerNamed('u', 'user')).env, { TOKEN: '***' })
  assert.deepEqual(serverRecord(stdio, {}, admin), expected)
})

test('only administrators see why a server that was saved disabled did not answer', () => {
  const server = catalogOf([storedServer('a', [], { enabled: false, saveFailure: 'exited: cannot open /srv/x' })])
  const notesFor = (kind: 'admin' | 'user') => serverRecord(server.server('a')!, {}, callerNamed('c', kind)).notes
  assert.deepEqual(notesFor('admin'), [
    'saved without an answer of the server: exited: cannot open /srv/x; enabling it reads its lists'
  ])
  assert.deepEqual(notesFor('user'), ['saved without an answer of the server; enabling it reads its lists'])
})
