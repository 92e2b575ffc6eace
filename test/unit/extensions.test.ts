import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appUrisOf } from '../../src/catalog/app-references.ts'
import { globalScope, scopeAt } from '../../src/catalog/scope.ts'
import { declaredExtension } from '../../src/catalog/extensions.ts'
import { extensionsOf } from '../../src/mcp/messages/extensions.ts'
import { capabilitiesOf } from '../../src/mcp/messages/initialize-result.ts'
import { catalogOf, legacyNegotiation, storedGroup, storedServer, tool } from './stored.ts'

const ui = 'io.modelcontextprotocol/ui'
const named = (name: string, meta: object) =>
  tool(name, { definition: JSON.stringify({ name, inputSchema: { type: 'object' }, _meta: meta }) })
const chart = named('chart', { ui: { resourceUri: 'ui://chart/app.html' } })

test('the UI extension is declared to both eras where a tool in scope names an interface', () => {
  const servers = [storedServer('alpha', [chart, tool('plain')]), storedServer('beta', [tool('plain')])]
  const groups = [
    storedGroup('picked', { included_tools: ['alpha__chart'] }),
    storedGroup('other', { included_tools: ['alpha__plain'], included_servers: ['beta'] }),
    storedGroup('bare', { included_servers: ['alpha'], tool_names: 'bare' })
  ]
  const catalog = catalogOf(servers, '1', groups)
  for (const era of ['legacy', 'modern'] as const) {
    assert.deepEqual(extensionsOf(globalScope(catalog), era), { [ui]: {} })
    assert.deepEqual(extensionsOf(scopeAt(catalog, 'picked'), era), { [ui]: {} })
    assert.deepEqual(extensionsOf(scopeAt(catalog, 'bare'), era), { [ui]: {} })
    assert.equal(extensionsOf(scopeAt(catalog, 'other'), era), undefined)
    assert.equal('extensions' in capabilitiesOf(scopeAt(catalog, 'other'), era), false)
    assert.deepEqual(capabilitiesOf(scopeAt(catalog, 'picked'), era).extensions, { [ui]: {} })
  }
})

test('a disabled tool or server does not count, nor what a server declares without a tool that names an interface', () => {
  const declaring = { ...legacyNegotiation, capabilities: { extensions: { [ui]: {}, 'com.example/x': {} } } }
  for (const stored of [
    storedServer('alpha', [{ ...chart, enabled: false }]),
    storedServer('alpha', [chart], { enabled: false }),
    storedServer('alpha', [tool('plain')], { negotiation: declaring })
  ]) {
    assert.equal(extensionsOf(globalScope(catalogOf([stored])), 'modern'), undefined)
  }
})

test('the declaration of a server is known from its stored negotiation, and hostile values count as empty', () => {
  const declared = (extensions: unknown, id = ui) => {
    const negotiation = { ...legacyNegotiation, capabilities: { extensions } }
    return declaredExtension(catalogOf([storedServer('alpha', [], { negotiation })]).servers[0]!, id)
  }
  assert.deepEqual(declared({ [ui]: { a: 1 } }), { a: 1 })
  for (const value of [null, true, [], 'x']) assert.deepEqual(declared({ [ui]: value }), {})
  for (const extensions of [undefined, null, [], ui, {}]) assert.equal(declared(extensions), undefined)
  assert.equal(declared({}, 'constructor'), undefined)
  const [unread] = catalogOf([storedServer('alpha', [], { negotiation: null })]).servers
  assert.equal(declaredExtension(unread!, ui), undefined)
})

test('an interface is found in each member that names one, however the JSON spells it', () => {
  const uri = 'ui://chart/app.html'
  for (const definition of [
    `{"_meta":{"ui":{"resourceUri":"${uri}"}}}`,
    `{"_meta":{"ui/resourceUri":"${uri}"}}`,
    `{"_meta":{"openai/outputTemplate":"${uri}"}}`,
    String.raw`{"_meta":{"ui":{"resourceUri":"ui:\/\/chart\/app.html"}}}`,
    String.raw`{"_\u006deta":{"ui":{"resource\u0055ri":"\u0075i://chart/app.html"}}}`
  ]) {
    assert.deepEqual(appUrisOf(definition), [uri], definition)
  }
  assert.deepEqual(appUrisOf('{"_meta":{"ui":{"resourceUri":"UI://a"},"ui/resourceUri":"ui://b"}}'), [
    'UI://a',
    'ui://b'
  ])
  for (const meta of ['null', '[]', '"ui://x"', '{"ui":"ui://x"}', '{"ui":{"resourceUri":["ui://x"]}}']) {
    assert.deepEqual(appUrisOf(`{"_meta":${meta}}`), [], meta)
  }
  // parsers of URLs ignore white space in front, tabs and line ends
  const lenient = String.raw`{"_meta":{"ui":{"resourceUri":" ui://x"},"ui/resourceUri":"u\ti:\n//x"}}`
  assert.deepEqual(appUrisOf(lenient), [' ui://x', 'u\ti:\n//x'])
  assert.deepEqual(appUrisOf('{"_meta":{"ui":{"resourceUri":"ui:ui://x"},"ui/resourceUri":"ui:/x"}}'), [])
})
