import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { answersOf, connectLegacy, connectModern } from '../asked-clients.ts'
import type { Recorder } from '../fixtures/http/recorder.ts'
import { addRecorder, MODERN, startMcp } from './mcp-helpers.ts'

const revisionOf = (recorder: Recorder) =>
  recorder.requests.findLast(({ message }) => message?.method === 'tools/call')!.headers['mcp-protocol-version']

for (const session_mode of ['stateful', 'stateless']) {
  test(`CR-F8: a server of both eras without session ids is spoken to in its caller's (${session_mode})`, async (t) => {
    const mcp = await startMcp(t)
    const recorder = await addRecorder(t, mcp, 'one', { modern: true, legacy: 'sessionless' }, { session_mode })
    const modern = await connectModern(t, mcp.url, answersOf('ann'))
    await modern.call('one__echo')
    assert.equal(revisionOf(recorder), MODERN, 'a modern client')
    const legacy = await connectLegacy(t, mcp.url, answersOf('ann'))
    await legacy.call('one__echo')
    assert.equal(revisionOf(recorder), '2025-11-25', 'a legacy client')
    const sse = new SSEClientTransport(new URL('/sse', mcp.url)) as Transport
    await (await connectLegacy(t, sse, answersOf('ann'))).call('one__echo')
    assert.equal(revisionOf(recorder), '2025-11-25', 'a client of HTTP+SSE')
  })
}

test('CR-F8: with session ids a stateful server of both eras is spoken to in the era that has sessions', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', { modern: true }, { session_mode: 'stateful' })
  await (await connectModern(t, mcp.url, answersOf('ann'))).call('one__echo')
  assert.equal(revisionOf(recorder), '2025-11-25', 'the legacy era')
})

test('CR-F8: who registers a server as stateful that has no sessions is told that it gains nothing', async (t) => {
  const mcp = await startMcp(t)
  const kinds = [
    ['both', { modern: true, legacy: 'sessionless' }, true],
    ['older', { legacy: 'sessionless' }, true],
    ['newer', { modern: true, legacy: 'none' }, true],
    ['sessions', {}, false],
    ['dual', { modern: true }, false]
  ] as const
  const notes = [
    'session_mode "stateful" has no effect: the server issues no session ids, so its requests are independent of each other'
  ]
  for (const [name, options, isTold] of kinds) {
    const recorder = await addRecorder(t, mcp, name, options)
    const config = { name, transport: 'streamable_http', url: recorder.url }
    const put = async (session_mode: string) => {
      const payload = { ...config, session_mode }
      const answer = await mcp.app.inject({ method: 'PUT', url: `/api/v0/servers/${name}`, payload })
      assert.equal(answer.statusCode, 200, answer.body)
      return answer.json<{ notes?: string[] }>().notes
    }
    assert.equal(await put('stateless'), undefined, `${name}, stateless`)
    assert.deepEqual(await put('stateful'), isTold ? notes : undefined, `${name}, stateful`)
    const payload = { ...config, session_mode: 'stateful' }
    const forced = await mcp.app.inject({ method: 'POST', url: '/api/v0/servers?force=true', payload })
    assert.equal(forced.statusCode, 201, forced.body)
    assert.deepEqual(forced.json<{ notes?: string[] }>().notes, isTold ? notes : undefined, `${name}, registered anew`)
  }
})
