import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noServers, parseAllowList } from '../../src/domain/policy/allow-list.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { capabilitiesOf, instructionsOf } from '../../src/mcp/messages/initialize-result.ts'
import { aliasOf } from '../../src/catalog/resource-uris.ts'
import { scopeAt, scopeFor, type Scope } from '../../src/catalog/scope.ts'
import type { ItemKind } from '../../src/registry/model/model.ts'
import { catalogOf, prompt, resource, storedGroup, storedServer, template, tool } from './stored.ts'

const items = (server: string) => [
  tool('t'),
  prompt('p'),
  resource(`${server}://r`),
  resource('shared://r'),
  template(`${server}://{x}`)
]

const catalog = (): Catalog =>
  catalogOf([storedServer('alpha', items('alpha')), storedServer('beta', items('beta'))], '7', [
    storedGroup('both', { included_tools: ['alpha__t', 'beta__t'] }),
    storedGroup('whole', { included_servers: ['alpha', 'beta'] }),
    storedGroup('bare', { included_servers: ['beta'], tool_names: 'bare' })
  ])

const listed = (scope: Scope, kind: ItemKind, key: string) =>
  scope
    .listings(kind)
    .flatMap(({ bytes }) => JSON.parse(`[${bytes.toString()}]`) as Record<string, unknown>[])
    .map((entry) => entry[key])

const onlyAlpha = parseAllowList(['alpha'])
const onlyBeta = parseAllowList(['beta'])

test('AZ-03 AZ-05 what a client may not use is in no list', () => {
  const scope = scopeFor(catalog(), undefined, onlyAlpha)
  assert.deepEqual(listed(scope, 'tool', 'name'), ['alpha__t'])
  assert.deepEqual(listed(scope, 'prompt', 'name'), ['alpha__p'])
  assert.deepEqual(listed(scope, 'resource', 'uri'), ['alpha://r', 'shared://r'])
  assert.deepEqual(listed(scope, 'template', 'uriTemplate'), ['alpha://{x}'])
})

test('AZ-04 what a client may not use is found by no name, URI, alias or template', () => {
  const scope = scopeFor(catalog(), undefined, onlyAlpha)
  assert.equal(scope.find('tool', 'beta__t'), undefined)
  assert.equal(scope.find('prompt', 'beta__p'), undefined)
  for (const uri of ['beta://r', aliasOf('beta', 'beta://r'), aliasOf('beta', 'shared://r'), 'beta://any'])
    assert.notEqual(scope.resolve(uri)?.server.name, 'beta', uri)
  for (const text of ['beta://{x}', aliasOf('beta', 'beta://{x}')]) assert.equal(scope.resolveTemplate(text), undefined)
  assert.ok(
    catalog()
      .servers.flatMap((server) => server.items('tool'))
      .some((item) => !scope.includes(item))
  )
})

test('a URI that another server owns belongs to the allowed one where that one cannot be seen', () => {
  const two = catalog()
  assert.equal(scopeFor(two, undefined, onlyAlpha).resolve('shared://r')?.server.name, 'alpha')
  assert.equal(scopeFor(two, undefined, onlyBeta).resolve('shared://r')?.server.name, 'beta')
  assert.deepEqual(listed(scopeFor(two, undefined, onlyBeta), 'resource', 'uri'), ['beta://r', 'shared://r'])
})

test('AZ-07 without an allow list there is nothing, nothing is declared and nothing is told', () => {
  for (const scope of [scopeFor(catalog(), undefined, noServers), scopeAt(catalog(), 'whole', noServers)]) {
    assert.deepEqual([scope.servers, listed(scope, 'tool', 'name')], [[], []])
    assert.equal(scope.find('tool', 'alpha__t'), undefined)
    const known = catalogOf([])
    assert.deepEqual(capabilitiesOf(scope, 'modern'), capabilitiesOf(scopeFor(known), 'modern'))
    assert.equal(instructionsOf(scope), instructionsOf(scopeFor(known)))
  }
})

test('AZ-08 a group never widens an allow list, nor does an allow list widen a group', () => {
  const both = scopeAt(catalog(), 'both', onlyAlpha)
  assert.deepEqual(listed(both, 'tool', 'name'), ['alpha__t'])
  assert.equal(both.find('tool', 'beta__t'), undefined)
  assert.equal(both.find('prompt', 'alpha__p'), undefined)
  assert.equal(scopeAt(catalog(), 'whole', onlyAlpha).find('prompt', 'alpha__p')?.name, 'p')
  assert.deepEqual(scopeAt(catalog(), 'gone', onlyAlpha).servers, [])
})

test('AZ-08 under bare names the one server of the group must be allowed, too', () => {
  assert.equal(scopeAt(catalog(), 'bare', onlyAlpha).find('tool', 't'), undefined)
  assert.deepEqual(listed(scopeAt(catalog(), 'bare', onlyAlpha), 'tool', 'name'), [])
  assert.equal(scopeAt(catalog(), 'bare', onlyBeta).find('tool', 't')?.publicName, 'beta__t')
})

test('clients with the same list share a scope, and what they list is shared with everybody', () => {
  const one = catalog()
  const scope = scopeFor(one, undefined, parseAllowList(['alpha', 'beta']))
  assert.equal(scopeFor(one, undefined, parseAllowList(['beta', 'alpha'])), scope)
  assert.equal(scope.listings('tool')[0], scopeFor(one).listings('tool')[0])
})

test('of ever so many allow lists a thousand scopes are kept, those in use among them', () => {
  const one = catalog()
  const scopeOf = (name: string) => scopeFor(one, undefined, parseAllowList(['alpha', name]))
  const [used, unused] = [scopeOf('used'), scopeOf('unused')]
  for (let i = 0; i < 1_500; i++) {
    scopeOf(`s${i}`)
    assert.equal(scopeOf('used'), used)
  }
  assert.notEqual(scopeOf('unused'), unused)
})
