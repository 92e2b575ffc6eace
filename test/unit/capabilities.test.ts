import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canRequest, sessionCapabilities, callerCapabilities } from '../../src/mcp/messages/capabilities.ts'

const elicitation = 'elicitation/create'
const sampling = 'sampling/createMessage'
const form = { message: 'Who?', requestedSchema: {} }
const url = { mode: 'url', message: 'Visit', url: 'https://example.com' }

/** Declared capabilities, method, parameters, true if the client supports the request. */
const table: readonly [unknown, string, object, boolean][] = [
  [{}, 'roots/list', {}, false],
  [{ roots: {} }, 'roots/list', {}, true],
  [{ roots: { listChanged: true } }, 'roots/list', {}, true],
  [{ roots: true }, 'roots/list', {}, false],
  [{ roots: null }, 'roots/list', {}, false],
  [{ sampling: {}, elicitation: {} }, 'roots/list', {}, false],

  [{}, sampling, {}, false],
  [{ sampling: {} }, sampling, { messages: [] }, true],
  [{ sampling: {} }, sampling, { messages: [], tools: [] }, false],
  [{ sampling: { tools: {} } }, sampling, { messages: [], tools: [] }, true],
  [{ sampling: { context: {} } }, sampling, { tools: [] }, false],

  [{}, elicitation, form, false],
  [{ elicitation: {} }, elicitation, form, true],
  [{ elicitation: {} }, elicitation, { mode: 'form', ...form }, true],
  [{ elicitation: {} }, elicitation, url, false],
  [{ elicitation: { form: {} } }, elicitation, form, true],
  [{ elicitation: { form: {} } }, elicitation, url, false],
  [{ elicitation: { url: {} } }, elicitation, form, false],
  [{ elicitation: { url: {} } }, elicitation, url, true],
  [{ elicitation: { form: {}, url: {} } }, elicitation, form, true],
  [{ elicitation: { form: {}, url: {} } }, elicitation, url, true],
  [{ elicitation: [] }, elicitation, form, false],

  [{ roots: {}, sampling: {}, elicitation: {} }, 'tools/call', {}, false],
  [{ roots: {}, sampling: {}, elicitation: {} }, 'tasks/get', {}, false],
  ['roots', 'roots/list', {}, false],
  [null, 'roots/list', {}, false]
]

test('a client is asked only for what it declared', () => {
  for (const [capabilities, method, params, expected] of table) {
    const given = canRequest(JSON.stringify(capabilities), method, JSON.stringify(params))
    assert.equal(given, expected, `${JSON.stringify(capabilities)} ${method} ${JSON.stringify(params)}`)
  }
})

test('a modern caller declares what it declared, with tasks only to modern servers', () => {
  const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } }
  const given = { elicitation: {}, extensions: { ...ui, 'io.modelcontextprotocol/tasks': {} }, tasks: { list: {} } }
  assert.deepEqual(callerCapabilities(given), {
    text: JSON.stringify({ elicitation: {}, extensions: ui }),
    withTasks: JSON.stringify({ elicitation: {}, extensions: given.extensions })
  })
  for (const same of [{}, { roots: {} }, { extensions: ui }, { extensions: null }]) {
    assert.deepEqual(callerCapabilities(same), { text: JSON.stringify(same), withTasks: undefined })
  }
  assert.deepEqual(callerCapabilities(undefined), { text: '{}', withTasks: undefined })
  const undeclared = { extensions: { 'io.modelcontextprotocol/tasks': true } }
  assert.equal(callerCapabilities(undeclared).withTasks, undefined)
})

test('a legacy session keeps the capabilities that the gateway relays, of the extensions UI and skills', () => {
  const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } }
  const skills = { 'io.modelcontextprotocol/skills': {} }
  const unknown = { 'io.modelcontextprotocol/tasks': {}, 'com.example/x': {} }
  const given = { sampling: {}, experimental: { a: {} }, tasks: {}, extensions: { ...unknown, ...ui, ...skills } }
  assert.deepEqual(sessionCapabilities(given), { sampling: {}, extensions: { ...ui, ...skills } })
  for (const extensions of [null, [], 'x', {}, unknown, { 'io.modelcontextprotocol/ui': true }]) {
    assert.deepEqual(sessionCapabilities({ roots: {}, extensions }), { roots: {} })
  }
  for (const given of [undefined, null, [], 'x', { roots: true }]) assert.deepEqual(sessionCapabilities(given), {})
})
