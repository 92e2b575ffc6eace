import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptsRequests, createCapabilityFilter } from '../../src/upstream/transport/capability-filter.ts'
import { canRequest } from '../../src/mcp/messages/capabilities.ts'

const sampling = [undefined, null, true, [], {}, { tools: {} }, { context: {}, tools: {}, x: 1 }, { tools: 1 }]
const elicitation = [undefined, null, {}, { form: {} }, { url: {} }, { url: {}, form: { a: 1 } }, { x: {} }]
const roots = [undefined, null, 'x', {}, { listChanged: true }, { listChanged: 'yes', x: 1 }]
const extra: readonly object[] = [
  {},
  { experimental: { a: {} } },
  { extensions: { a: {} }, tasks: {}, constructor: {} },
  { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } } },
  { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: 'text/html;profile=mcp-app' } } }
]

const requests: readonly (readonly [method: string, params: object])[] = [
  ['roots/list', {}],
  ['sampling/createMessage', {}],
  ['sampling/createMessage', { tools: [] }],
  ['elicitation/create', {}],
  ['elicitation/create', { mode: 'url' }]
]

test('SR-M6 carried capabilities allow the same requests as those that were declared, and are few', () => {
  const carried = createCapabilityFilter()
  const texts = new Set<string>()
  for (const one of sampling) {
    for (const two of elicitation) {
      for (const three of roots) {
        for (const more of extra) {
          const given = JSON.stringify({ ...more, roots: three, elicitation: two, sampling: one })
          const text = carried(given)
          texts.add(text)
          for (const [method, params] of requests) {
            const asked = JSON.stringify(params)
            assert.equal(
              canRequest(text, method, asked),
              canRequest(given, method, asked),
              `${given} ${method} ${asked}`
            )
          }
        }
      }
    }
  }
  assert.ok(texts.size <= 60, `${texts.size}`)
  for (const text of texts) assert.equal(carried(text), text)
  for (const text of ['{}', 'null', '[]', '"x"', '{"x":1}']) assert.equal(carried(text), '{}')
})

test('clients that show interfaces are told apart from those that do not, whatever else they declare for them', () => {
  const filter = createCapabilityFilter()
  const withUi = (settings: object) =>
    filter(JSON.stringify({ extensions: { 'io.modelcontextprotocol/ui': settings } }))
  const html = 'text/html;profile=mcp-app'
  const shown = withUi({ mimeTypes: [html] })
  assert.deepEqual(JSON.parse(shown), { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [html] } } })
  assert.equal(withUi({ mimeTypes: ['text/uri-list', html], features: ['streaming'] }), shown)
  assert.equal(withUi({}), '{}')
  assert.equal(acceptsRequests(shown), false)
  assert.equal(acceptsRequests(filter('{"roots":{}}')), true)
})
