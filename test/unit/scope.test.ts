import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { parseAllowList } from '../../src/domain/policy/allow-list.ts'
import { aliasOf } from '../../src/catalog/resource-uris.ts'
import { anyByUri } from '../../src/catalog/item-lookup.ts'
import { globalScope, scopeFor } from '../../src/catalog/scope.ts'
import type { ItemKind, StoredItem } from '../../src/registry/model/model.ts'
import { catalogOf, prompt, resource, storedServer, template, tool } from './stored.ts'

const early = { registeredAt: '2026-01-01T00:00:00.000Z' }
const late = { registeredAt: '2026-02-01T00:00:00.000Z' }

const listed = (catalog: Catalog, kind: ItemKind): Record<string, unknown>[] =>
  globalScope(catalog)
    .listings(kind)
    .flatMap(({ bytes }) => JSON.parse(`[${bytes.toString()}]`) as Record<string, unknown>[])
const uris = (catalog: Catalog) => listed(catalog, 'resource').map(({ uri }) => uri)
const resolved = (catalog: Catalog, uri: string) => {
  const target = globalScope(catalog).resolve(uri)
  return target && [target.server.name, target.uri, target.form === 'alias']
}
const titled = (uri: string, title?: string): StoredItem =>
  resource(uri, { definition: JSON.stringify({ uri, name: 'n', ...(title === undefined ? {} : { title }) }) })

test('names split at the first two underscores: slashes, leading underscores and further pairs belong to the item', () => {
  const names = ['a/b', '_x', '__x', 'a__b', 'u.o', 'constructor']
  const catalog = catalogOf([storedServer('one', [...names.map((name) => tool(name)), prompt('p')])])
  const scope = globalScope(catalog)
  for (const name of names) assert.equal(scope.find('tool', `one__${name}`)?.name, name)
  assert.equal(scope.find('tool', 'one___x')?.name, '_x')
  assert.equal(scope.find('tool', 'one____x')?.name, '__x')
  for (const name of ['one', 'one__', '__x', 'one_a/b', 'two__a/b', 'ONE__a/b', 'one__p', '']) {
    assert.equal(scope.find('tool', name), undefined, name)
  }
  assert.equal(scope.find('prompt', 'one__p')?.name, 'p')
})

test('what is disabled, or whose server is, is neither found nor listed', () => {
  const off = { enabled: false }
  const catalog = catalogOf([
    storedServer('one', [tool('a'), tool('b', off), resource('x://a'), resource('x://b', off)]),
    storedServer('two', [tool('a'), resource('y://a'), template('y://{z}')], off)
  ])
  assert.deepEqual(
    listed(catalog, 'tool').map(({ name }) => name),
    ['one__a']
  )
  assert.equal(globalScope(catalog).find('tool', 'one__b'), undefined)
  assert.equal(globalScope(catalog).find('tool', 'two__a'), undefined)
  assert.deepEqual(uris(catalog), ['x://a'])
  assert.deepEqual(listed(catalog, 'template'), [])
  assert.equal(globalScope(catalog).resolveTemplate('y://{z}'), undefined)
})

test('a URI that one server offers stays as it is; its alias is accepted all the same', () => {
  const catalog = catalogOf([
    storedServer('fs', [resource('file:///a%20b?x#y')]),
    storedServer('db', [resource('db://t')])
  ])
  assert.deepEqual(uris(catalog), ['db://t', 'file:///a%20b?x#y'])
  assert.deepEqual(resolved(catalog, 'file:///a%20b?x#y'), ['fs', 'file:///a%20b?x#y', false])
  assert.deepEqual(resolved(catalog, 'towpath://fs/file:///a%20b?x#y'), ['fs', 'file:///a%20b?x#y', true])
  assert.deepEqual(resolved(catalog, 'towpath://fs/file:///unlisted'), ['fs', 'file:///unlisted', true])
})

test('on collision the server registered first keeps the URI, the others are listed under their alias', () => {
  const item = () => titled('x://same', 'Same')
  const catalog = catalogOf([
    storedServer('a', [item()], late),
    storedServer('b', [item()], early),
    storedServer('c', [titled('x://same')], late)
  ])
  assert.deepEqual(listed(catalog, 'resource'), [
    { uri: 'towpath://a/x://same', name: 'n', title: 'Same (a)' },
    { uri: 'x://same', name: 'n', title: 'Same' },
    { uri: 'towpath://c/x://same', name: 'n' }
  ])
  assert.deepEqual(resolved(catalog, 'x://same'), ['b', 'x://same', false])
  for (const name of ['a', 'b', 'c'])
    assert.deepEqual(resolved(catalog, aliasOf(name, 'x://same')), [name, 'x://same', true])
})

test('servers registered at the same time collide in order of name', () => {
  const catalog = catalogOf([storedServer('b', [resource('x://same')]), storedServer('a', [resource('x://same')])])
  assert.deepEqual(uris(catalog), ['x://same', 'towpath://b/x://same'])
})

test('a disabled item is no party to a collision, and its URI then leads to the other server', () => {
  const catalog = catalogOf([
    storedServer('a', [resource('x://same', { enabled: false }), resource('x://own')], early),
    storedServer('b', [resource('x://same')], late)
  ])
  assert.deepEqual(uris(catalog), ['x://own', 'x://same'])
  assert.deepEqual(resolved(catalog, 'x://same'), ['b', 'x://same', false])
  assert.equal(resolved(catalog, 'towpath://a/x://same'), undefined)
})

test('templates collide by their template string', () => {
  const catalog = catalogOf([
    storedServer('a', [template('x://{id}')], late),
    storedServer('b', [template('x://{id}')], early),
    storedServer('c', [template('x://{other}')], late)
  ])
  assert.deepEqual(
    listed(catalog, 'template').map(({ uriTemplate }) => uriTemplate),
    ['towpath://a/x://{id}', 'x://{id}', 'x://{other}']
  )
  const scope = globalScope(catalog)
  assert.equal(scope.resolveTemplate('x://{id}')?.server.name, 'b')
  assert.equal(scope.resolveTemplate('towpath://a/x://{id}')?.server.name, 'a')
  assert.equal(scope.resolveTemplate('towpath://a/x://{id}')?.uri, 'x://{id}')
  assert.equal(scope.resolveTemplate('x://{nobody}'), undefined)
  assert.deepEqual(resolved(catalog, 'x://5'), ['b', 'x://5', false])
})

test('a URI that looks like the alias of a server is listed under its own alias, without a word in the title', () => {
  const catalog = catalogOf([
    storedServer('a', [
      titled('towpath://b/x://1', 'One'),
      titled('towpath://elsewhere/x://2', 'Two'),
      titled('TOWPATH://B/x://1', 'Three')
    ]),
    storedServer('b', [resource('x://1')])
  ])
  assert.deepEqual(listed(catalog, 'resource').slice(0, 3), [
    { uri: 'towpath://a/towpath://b/x://1', name: 'n', title: 'One' },
    { uri: 'towpath://elsewhere/x://2', name: 'n', title: 'Two' },
    { uri: 'towpath://a/TOWPATH://B/x://1', name: 'n', title: 'Three' }
  ])
  assert.deepEqual(resolved(catalog, 'towpath://b/x://1'), ['b', 'x://1', true])
  assert.deepEqual(resolved(catalog, 'towpath://a/towpath://b/x://1'), ['a', 'towpath://b/x://1', true])
  assert.deepEqual(resolved(catalog, 'towpath://elsewhere/x://2'), ['a', 'towpath://elsewhere/x://2', false])
})

test('a template of a chained gateway is found by its own string', () => {
  const own = 'towpath://elsewhere/x://{id}'
  const scope = globalScope(catalogOf([storedServer('a', [template(own)]), storedServer('b', [resource('y://1')])]))
  assert.deepEqual([scope.resolveTemplate(own)?.server.name, scope.resolveTemplate(own)?.form], ['a', 'own'])
  assert.equal(scope.resolve('towpath://elsewhere/x://5')?.server.name, 'a')
})

test('an unlisted URI goes to a template that it expands, else to the only server that can be meant', () => {
  const catalog = catalogOf([
    storedServer('a', [resource('x://host/1'), template('t://{id}')], late),
    storedServer('b', [resource('y://host/1'), template('t://{id}/more')], early)
  ])
  assert.deepEqual(resolved(catalog, 't://5'), ['a', 't://5', false])
  assert.deepEqual(resolved(catalog, 't://5/more'), ['b', 't://5/more', false])
  assert.deepEqual(resolved(catalog, 'X://HOST/2'), ['a', 'X://HOST/2', false])
  assert.deepEqual(resolved(catalog, 'y://host/other'), ['b', 'y://host/other', false])
  assert.equal(resolved(catalog, 'z://host/1'), undefined)
  assert.equal(resolved(catalog, 'y://other/1'), undefined)
  const only = catalogOf([storedServer('a', [resource('x://1')]), storedServer('b', [tool('t')])])
  assert.deepEqual(resolved(only, 'z://anything'), ['a', 'z://anything', false])
  assert.deepEqual(resolved(only, 'no uri at all'), ['a', 'no uri at all', false])
})

test('CR-A7: a URI that another server explains is not guessed to be of one that does not, in scope or not', () => {
  const alpha = storedServer('alpha', [resource('test://alpha/note'), template('test://alpha/items/{id}')])
  const beta = [resource('test://beta/note'), template('test://beta/items/{id}'), resource('b://1', { enabled: false })]
  const explained = ['test://beta/note', 'test://beta/items/5', 'b://1']
  const allowed = parseAllowList(['alpha'])
  for (const more of [{}, { enabled: false }]) {
    const catalog = catalogOf([alpha, storedServer('beta', beta, more)])
    const scope = scopeFor(catalog, undefined, allowed)
    for (const uri of explained) assert.equal(scope.resolve(uri), undefined, uri)
    for (const uri of ['test://alpha/other', 'file:///unlisted'])
      assert.equal(scope.resolve(uri)?.server.name, 'alpha', `nobody explains ${uri}`)
    assert.equal(scope.resolve('test://alpha/items/7')?.server.name, 'alpha', 'its own template')
  }
  const off = catalogOf([alpha, storedServer('beta', beta, { enabled: false })])
  for (const uri of explained) assert.equal(resolved(off, uri), undefined, `${uri}, its server is disabled`)
})

test('CR-A7: what is asked for without a guess leads to what is listed alone', () => {
  const items = [resource('x://1'), template('x://items/{id}')]
  const scope = globalScope(catalogOf([storedServer('a', items)]))
  assert.equal(scope.resolve('x://1', false)?.server.name, 'a', 'a resource')
  assert.equal(scope.resolve('x://items/5', false)?.server.name, 'a', 'what a template describes')
  assert.equal(scope.resolve('towpath://a/x://2', false)?.server.name, 'a', 'the server is named')
  for (const uri of ['x://2', 'y://1']) assert.equal(scope.resolve(uri, false), undefined, uri)
})

test('a template that describes every URI keeps no other server from its unlisted ones', () => {
  const greedy = storedServer('greedy', [template('{+uri}'), template('{uri}')], early)
  const plain = storedServer('plain', [resource('x://h/1')], late)
  const both = catalogOf([greedy, plain])
  assert.deepEqual(resolved(both, 'x://h/2'), ['plain', 'x://h/2', false])
  assert.deepEqual(resolved(both, 'other://1'), ['greedy', 'other://1', false])
  const sent = globalScope(both).resolve('other://1', true, 'plain')
  assert.equal(sent?.server.name, 'plain', 'the server that sent it comes before a guess')
  const scope = scopeFor(both, undefined, parseAllowList(['plain']))
  assert.equal(scope.resolve('other://1')?.server.name, 'plain', 'out of scope it says nothing')
  const off = catalogOf([storedServer('a', [template('{+uri}', { enabled: false }), resource('x://h/1')])])
  assert.equal(resolved(off, 'x://h/2'), undefined, 'what a disabled template describes')
})

test('CR-F7: a wildcard template is found among several servers, and a closer one that is older comes first', () => {
  const wild = storedServer('wild', [template('path://{p*}')], late)
  const other = storedServer('other', [resource('x://1'), template('path://one/{id}')], early)
  const catalog = catalogOf([wild, other])
  assert.deepEqual(resolved(catalog, 'path://a/b/c'), ['wild', 'path://a/b/c', false])
  assert.deepEqual(resolved(catalog, 'path://one/2'), ['other', 'path://one/2', false])
})

test('two servers of the same scheme and authority are not guessed between', () => {
  const catalog = catalogOf([storedServer('a', [resource('x://h/1')]), storedServer('b', [resource('x://h/2')])])
  assert.equal(resolved(catalog, 'x://h/3'), undefined)
})

test('a disabled resource is found by no step: not by its URI, its alias, a template, or as the only server', () => {
  const off = { enabled: false }
  const alone = catalogOf([storedServer('a', [resource('x://1', off), resource('x://2'), template('x://{id}')])])
  assert.equal(resolved(alone, 'x://1'), undefined)
  assert.equal(resolved(alone, 'towpath://a/x://1'), undefined)
  assert.deepEqual(resolved(alone, 'x://2'), ['a', 'x://2', false])
  const none = catalogOf([storedServer('a', [resource('x://1', off)])])
  assert.equal(resolved(none, 'x://1'), undefined)
  assert.equal(resolved(none, 'towpath://a/x://unlisted'), undefined)
})

test('what only a disabled template describes is not reached in another way', () => {
  const items = [template('x://{id}', { enabled: false }), resource('x://listed'), resource('x:///other')]
  const catalog = catalogOf([storedServer('a', items)])
  assert.equal(resolved(catalog, 'x://5'), undefined)
  assert.equal(resolved(catalog, 'towpath://a/x://5'), undefined)
  assert.deepEqual(resolved(catalog, 'x://listed'), ['a', 'x://listed', false])
  assert.deepEqual(resolved(catalog, 'towpath://a/x://listed'), ['a', 'x://listed', true])
})

test('a server is not asked for what only a disabled item of it describes, even if it has sent the URI itself', () => {
  const off = { enabled: false }
  const items = [template('x://{id}', off), resource('y://1', off), resource('x://listed')]
  const catalog = catalogOf([storedServer('a', items), storedServer('b', [], off)])
  const at = (server: string, uri: string) => globalScope(catalog).resolveAt(server, uri)
  assert.equal(at('a', 'x://5'), undefined)
  assert.equal(at('a', 'y://1'), undefined)
  assert.deepEqual([at('a', 'z://new')?.server.name, at('a', 'x://listed')?.uri], ['a', 'x://listed'])
  assert.equal(at('b', 'z://new'), undefined)
  assert.equal(at('c', 'z://new'), undefined)
})

test('an alias that leads nowhere is not handed to another server', () => {
  const catalog = catalogOf([storedServer('a', [resource('x://1', { enabled: false }), resource('x://2')])])
  assert.equal(resolved(catalog, 'towpath://a/x://1'), undefined)
  const other = catalogOf([storedServer('a', [tool('t')]), storedServer('b', [resource('x://1')])])
  assert.equal(resolved(other, 'towpath://a/x://1'), undefined)
})

test('REST finds disabled items by URI and by alias, and the one in force first', () => {
  const off = { enabled: false }
  const catalog = catalogOf([
    storedServer('a', [resource('x://1', off), resource('x://a', off)], early),
    storedServer('b', [resource('x://1'), template('x://{id}')], late),
    storedServer('c', [resource('z://1')], off)
  ])
  const found = (uri: string) => anyByUri(catalog, 'resource', uri)?.server.name
  assert.equal(found('x://1'), 'b')
  assert.equal(found('towpath://a/x://1'), 'a')
  assert.equal(found('x://a'), 'a', 'although the template of b would take it')
  assert.equal(found('z://1'), 'c')
  assert.equal(found('towpath://c/z://1'), 'c')
  assert.equal(found('x://nothing'), undefined)
  assert.equal(anyByUri(catalog, 'template', 'x://{id}')?.server.name, 'b')
})

test('one scope is made for each catalog, and its listings once', () => {
  const catalog = catalogOf([storedServer('a', [tool('t'), resource('x://1')]), storedServer('b', [resource('x://1')])])
  assert.equal(globalScope(catalog), globalScope(catalog))
  assert.equal(globalScope(catalog).listings('resource'), globalScope(catalog).listings('resource'))
  assert.equal(globalScope(catalog).listings('tool')[0], catalog.server('a')!.listing('tool'))
})
