import assert from 'node:assert/strict'
import test from 'node:test'
import { startApp } from '../app.ts'

interface Refusal {
  readonly error: string
  readonly recognized?: string
  readonly registrations?: readonly object[]
  readonly problems?: readonly string[]
  readonly next_step?: string
}

const url = '/api/v0/servers'
const files = { command: 'npx', args: ['-y', 'files-mcp', '/srv'] }

test('a registration that is a text or the file of a client is a 400 with the bodies to send', async (t) => {
  const app = await startApp(t)
  const send = async (payload: string, type = 'text/plain') => {
    const response = await app.inject({ method: 'POST', url, payload, headers: { 'content-type': type } })
    return { status: response.statusCode, ...response.json<Refusal>() }
  }
  const registration = { name: 'files', transport: 'stdio', ...files }
  const line = 'KEY=$KEY npx -y files-mcp /srv'
  const cases: [payload: string, type: string, recognized: string, registrations: object[]][] = [
    [JSON.stringify({ mcpServers: { files } }), 'application/json', 'the configuration of a client', [registration]],
    [JSON.stringify(line), 'application/json', 'a command line', [{ ...registration, env: { KEY: '${KEY}' } }]],
    [line, 'text/plain; charset=utf-8', 'a command line', [{ ...registration, env: { KEY: '${KEY}' } }]],
    [
      'https://docs.example.com/mcp',
      'text/plain',
      'a URL',
      [{ name: 'docs', transport: 'streamable_http', url: 'https://docs.example.com/mcp' }]
    ],
    [JSON.stringify(registration), 'text/plain', 'JSON in a text', [registration]]
  ]
  for (const [payload, type, recognized, registrations] of cases) {
    const answer = await send(payload, type)
    assert.deepEqual([answer.status, answer.recognized], [400, recognized], payload)
    assert.equal(answer.error, `the body is ${recognized}, not a registration`)
    assert.deepEqual(answer.registrations, registrations, payload)
    assert.equal(/values instead of \$\{NAME\}/.test(answer.next_step!), payload.includes('$KEY'), payload)
  }
  const piped = await send('npx -y files-mcp | tee log')
  assert.deepEqual([piped.status, piped.registrations], [400, []])
  assert.match(piped.problems![0]!, /it contains a pipe/)
  const own = await send(
    JSON.stringify({ mcpServers: { self: { url: 'http://localhost:80/mcp' } } }),
    'application/json'
  )
  assert.match(own.problems![0]!, /this entry is this gateway/)
  assert.deepEqual((await app.inject(url)).json(), [])
})

test('bodies that mean nothing are refused as before, and other routes read no text', async (t) => {
  const app = await startApp(t)
  const send = async (payload: string, type: string, path = url, more: Record<string, string> = {}) => {
    const headers = { 'content-type': type, ...more }
    const response = await app.inject({ method: 'POST', url: path, payload, headers })
    return [response.statusCode, response.json()]
  }
  const notJson = [415, { error: 'the content type must be application/json' }]
  assert.deepEqual(await send('some prose', 'text/plain'), notJson)
  assert.deepEqual(await send('npx -y a', 'text/plain', '/api/v0/tool-groups'), notJson)
  assert.deepEqual(await send('npx -y a', 'application/x-www-form-urlencoded'), notJson)
  assert.deepEqual(await send('"some prose"', 'application/json'), [400, { error: 'the body must be an object' }])
  const encoding = { 'content-encoding': 'gzip' }
  const encoded = [415, { error: 'bodies with a Content-Encoding are not accepted' }]
  assert.deepEqual(await send('npx -y a', 'text/plain', url, encoding), encoded)
  assert.equal((await send('a '.repeat(1_000_000), 'text/plain'))[0], 413)
})
