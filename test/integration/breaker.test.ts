import assert from 'node:assert/strict'
import { test } from 'node:test'
import { register } from '../app.ts'
import { registrationOf, startUpstream } from '../e2e/upstream.ts'
import { addRecorder, startMcp } from './mcp-helpers.ts'

test('an upstream that does not initialise is given a rest, which callers are told; others are served', async (t) => {
  const mcp = await startMcp(t, { TOWPATH_CONNECT_TIMEOUT_MS: '3000', TOWPATH_REFRESH_INTERVAL_MS: '0' })
  let isSilent = false
  const slow = await startUpstream(t, 'slow', {
    onRequest({ method }, response) {
      if (method === 'initialize') response.setHeader('mcp-session-id', 'one')
      return isSilent && method === 'initialize'
    }
  })
  await register(mcp.app, registrationOf('slow', slow))
  await addRecorder(t, mcp, 'alpha')
  isSilent = true

  const invoke = (name: string) => mcp.app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name } })
  const timedOut = await Promise.all(Array.from({ length: 5 }, () => invoke('slow__echo')))
  assert.deepEqual(
    timedOut.map(({ statusCode }) => statusCode),
    [504, 504, 504, 504, 504]
  )
  const rest = await invoke('slow__echo')
  const why = 'connecting timed out several times in a row; it is tried again shortly'
  assert.deepEqual([rest.statusCode, rest.json()], [503, { error: `server "slow": ${why}` }])
  assert.match(String(rest.headers['retry-after']), /^([1-9]|10)$/)

  for (const kind of ['legacy', 'modern'] as const) {
    const { status, body } = await mcp[kind]('tools/call', { name: 'slow__echo', arguments: {} })
    const { code, message, data } = body.error!
    assert.deepEqual([status, code, message, data?.server, data?.reason], [200, -32603, why, 'slow', 'unreachable'])
    assert.ok(Number(data?.retryAfter) >= 1)
  }
  assert.equal((await invoke('alpha__echo')).statusCode, 200)
})
