import assert from 'node:assert/strict'
import test from 'node:test'
import { AppError } from '../../src/lib/errors.ts'
import { toServerConfig } from '../../src/routes/server-config.ts'
import { toolArguments, wrappedArguments } from '../../src/routes/items/tool-arguments.ts'
import { namedSchemas } from '../../src/schemas/named.ts'
import type { ServerInput } from '../../src/schemas/server.ts'
import { cpuMs } from '../cpu.ts'

const http = { name: 'a', transport: 'streamable_http', url: 'http://h/mcp' } as const
const stdio = { name: 'a', transport: 'stdio', command: 'node' } as const
const refused = (input: ServerInput): string => {
  try {
    toServerConfig(input)
  } catch (error) {
    assert.ok(error instanceof AppError)
    assert.equal(error.statusCode, 400)
    return error.message
  }
  assert.fail('it was accepted')
}

test('every named schema has a name of its own', () => {
  const names = namedSchemas.map(({ $id }) => $id)
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.every((name) => name !== undefined))
})

test('session_mode is stateless where nothing is said', () => {
  assert.deepEqual(toServerConfig(stdio), { ...stdio, session_mode: 'stateless' })
})

test('members of another transport are accepted, unchecked, and dropped', () => {
  const foreign = { url: 'not a url', bearer_token: ' ', headers: { 'bad name': '\n' }, oauth_redirect_uri: 'x' }
  assert.deepEqual(toServerConfig({ ...stdio, ...foreign }), { ...stdio, session_mode: 'stateless' })
  const process = { command: '', args: ['x'], env: { 'A=B': 'c' } }
  assert.deepEqual(toServerConfig({ ...http, ...process }), { ...http, session_mode: 'stateless' })
})

test('empty optional members are the same as absent ones', () => {
  const empty = { description: '', bearer_token: '', headers: {}, oauth_client_id: '', oauth_redirect_uri: '' }
  assert.deepEqual(toServerConfig({ ...http, ...empty }), { ...http, session_mode: 'stateless' })
})

test('SE-03 token and headers stay as they were registered', () => {
  const given = {
    ...http,
    session_mode: 'stateful',
    bearer_token: 't0ken',
    headers: { authorization: 'Basic x' }
  } as const
  assert.deepEqual(toServerConfig(given), given)
})

test('IN-01 each transport needs its address', () => {
  assert.match(refused({ name: 'a', transport: 'stdio' }), /"command" is required/)
  for (const transport of ['streamable_http', 'sse'] as const) {
    assert.match(refused({ name: 'a', transport }), /"url" is required/)
  }
})

test('IN-07 environment names are not empty and hold no "="', () => {
  for (const name of ['', 'A=B', '=']) assert.match(refused({ ...stdio, env: { [name]: 'SENT' } }), /^"env" has a name/)
})

const badHeaders: readonly Record<string, string>[] = [
  { 'X y': 'SENT' },
  { Host: 'SENT' },
  { 'Mcp-Session-Id': 'SENT' },
  { 'X-A': 'SENT\r\nX-B: 1' },
  { 'X-A': 'SENT', 'x-a': 'SENT' }
]
for (const headers of badHeaders) {
  test(`headers ${JSON.stringify(headers)} are refused by name, without the value`, () => {
    const message = refused({ ...http, headers })
    assert.match(message, /"headers"/)
    assert.doesNotMatch(message, /SENT/)
  })
}

test('a bearer token with white space or control characters is refused and not repeated', () => {
  for (const bearer_token of ['SENT a', 'SENT\n', 'SENTé'])
    assert.doesNotMatch(refused({ ...http, bearer_token }), /SENT/)
})

const never = () => false

test('tool arguments are the members beside the name, byte for byte and in order', () => {
  const text = ' { "b" : 12345678901234567890, "name":"x__y", "a":[1.0, {"c":"\\u00e9"}] } '
  assert.equal(toolArguments(text, never), '{"b" : 12345678901234567890,"a":[1.0, {"c":"\\u00e9"}]}')
  assert.equal(toolArguments('{"name":"x__y"}', never), '{}')
})

test('a lone object called arguments is the arguments, unless the tool has that parameter', () => {
  const text = '{"name":"x__y","arguments": {"name":1e400}}'
  assert.equal(toolArguments(text, never), '{"name":1e400}')
  assert.equal(
    toolArguments(text, () => true),
    '{"arguments": {"name":1e400}}'
  )
})

test('arguments that are no object, or that are not alone, are arguments like any other', () => {
  assert.equal(toolArguments('{"name":"x","arguments":[1]}', never), '{"arguments":[1]}')
  assert.equal(toolArguments('{"arguments":{},"name":"x","a":1}', never), '{"arguments":{},"a":1}')
})

test('a name that is given twice is refused, however it is written', () => {
  for (const text of ['{"name":"a","name":"b"}', '{"name":"a","n\\u0061me":"b"}']) {
    assert.throws(() => toolArguments(text, never), { statusCode: 400 })
  }
})

test('CR-F12: arguments that are said to be in an object are that object, byte for byte, whatever the parameters are called', () => {
  const args = '{ "name":1e400, "arguments" : {"name":"x"}}'
  assert.equal(wrappedArguments(`{"arguments":${args}, "name":"x__y"}`), args)
  assert.equal(wrappedArguments('{"name":"x__y"}'), '{}')
  for (const text of [
    '{"name":"x","arguments":[1]}',
    '{"name":"x","arguments":null}',
    '{"name":"x","a":1}',
    '{"name":"x","arguments":{},"a":1}',
    '{"name":"x","name":"y","arguments":{}}',
    '{"name":"x","arguments":{},"arg\\u0075ments":{}}'
  ]) {
    assert.throws(() => wrappedArguments(text), { statusCode: 400 }, text)
  }
})

test('many members cost little', async () => {
  const text = `{"name":"x",${Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`).join(',')}}`
  assert.ok((await cpuMs(() => toolArguments(text, never))) < 1_000)
})
