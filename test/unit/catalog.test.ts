import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitName } from '../../src/domain/names.ts'
import { buildCatalog, createCatalogCache, listEntry } from '../../src/catalog/catalog.ts'
import { joinListing } from '../../src/catalog/list-cache.ts'
import type { StoredItem } from '../../src/registry/model/model.ts'
import { catalogOf, prompt, resource, stateOf, storedServer, template, tool } from './stored.ts'

const listed = (item: StoredItem) => {
  const server = catalogOf([storedServer('one', [item])]).server('one')!
  return listEntry(server.items(item.kind)[0]!)
}

test('a name splits at the first two underscores', () => {
  assert.deepEqual(splitName('a__b__c'), { server: 'a', name: 'b__c' })
  assert.deepEqual(splitName('a___b'), { server: 'a', name: '_b' })
  assert.deepEqual(splitName('a__'), { server: 'a', name: '' })
  for (const bad of ['', 'a', 'a_b', '__a']) assert.equal(splitName(bad), undefined, bad)
})

test('items of a server that changes are checked once, and the others as they come', () => {
  const cache = createCatalogCache()
  const [kept, broken] = [tool('kept'), tool('broken', { definition: '{"name":' })]
  const unusableOf = (...items: StoredItem[]) => {
    const [server] = buildCatalog(stateOf('1', { servers: [storedServer('one', items)] }), cache).servers
    return server!.unusable
  }
  const [first] = unusableOf(kept, broken)
  const [again, added] = unusableOf(kept, broken, tool('other', { definition: '7' }))
  assert.equal(again, first, 'the outcome for an item is kept')
  assert.deepEqual([first!.name, added!.name], ['broken', 'other'])
})

test('a definition is listed as it was sent but for its name', () => {
  const definition =
    '{ "description":"ü\\u00e9", "na\\u006de" : "a/b",\n "inputSchema": {"type":"object","oneOf":[{"a":1.0}],"name":"x"}, "n":12345678901234567890,' +
    '"_meta":{"name":"y"},"icons":[ ],"future":{"x":null} }'
  assert.equal(
    listed(tool('a/b', { definition })),
    '{"description":"ü\\u00e9","na\\u006de" : "one__a/b","inputSchema": {"type":"object","oneOf":[{"a":1.0}],"name":"x"},' +
      '"n":12345678901234567890,"_meta":{"name":"y"},"icons":[ ],"future":{"x":null}}'
  )
  assert.equal(
    listed(prompt('"q"', { definition: '{"name":"\\"q\\"","title":"T"}' })),
    '{"name":"one__\\"q\\"","title":"T"}'
  )
  for (const item of [resource('x://1', { definition: '{ "uri":"x://1" , "name":"n"}' }), template('x://{a}')]) {
    assert.equal(listed(item), item.definition)
  }
})

test('task support is not listed, the rest of execution is', () => {
  const execution = (text: string) => {
    const definition = `{"name":"t","execution":${text},"inputSchema":{"type":"object"}}`
    return listed(tool('t', { definition })).replace(',"inputSchema":{"type":"object"}', ',"x":1')
  }
  assert.equal(execution('{"taskSupport":"optional"}'), '{"name":"one__t","x":1}')
  assert.equal(execution('{"taskSupport":"required","a": 1.0}'), '{"name":"one__t","execution":{"a": 1.0},"x":1}')
  assert.equal(execution('{"a":1}'), '{"name":"one__t","execution":{"a":1},"x":1}')
  assert.equal(execution('{}'), '{"name":"one__t","execution":{},"x":1}')
})

test('a listing knows where each entry ends, in bytes', () => {
  const texts = ['{"a":"ü"}', '{}', '{"b":"😀\ud800"}']
  const { bytes, ends } = joinListing(texts)
  assert.equal(bytes.toString(), Buffer.from(texts.join(',')).toString())
  assert.deepEqual(ends, [10, 13, bytes.length])
  assert.deepEqual(joinListing([]), { bytes: Buffer.alloc(0), ends: [] })
})

test('a server’s block is made once for each stored object and shared by the catalogs that hold it', () => {
  const [a, b] = [storedServer('a', [tool('t')]), storedServer('b', [])]
  const cache = createCatalogCache()
  const before = buildCatalog(stateOf('1', { servers: [a, b] }), cache)
  const after = buildCatalog(stateOf('2', { servers: [a, { ...b }] }), cache)
  assert.equal(after.server('a'), before.server('a'))
  assert.equal(after.server('a')!.listing('tool'), before.server('a')!.listing('tool'))
  assert.notEqual(after.server('b'), before.server('b'))
  assert.deepEqual([before.version, after.version], ['1', '2'])
})

test('names like members of every object lead to nothing', () => {
  const catalog = catalogOf([storedServer('constructor', [tool('toString')])])
  assert.equal(catalog.server('__proto__'), undefined)
  assert.equal(catalog.server('constructor')!.find('tool', 'valueOf'), undefined)
  assert.equal(catalog.server('constructor')!.find('tool', 'toString')!.publicName, 'constructor__toString')
})
