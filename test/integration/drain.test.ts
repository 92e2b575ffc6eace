import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { addRecorder, modernBody, modernHeaders, openStream, startMcp, type Mcp } from './mcp-helpers.ts'
import { until } from '../until.ts'

const listen = (t: TestContext, { url }: Mcp) =>
  openStream(t, url, {
    method: 'POST',
    headers: modernHeaders('subscriptions/listen'),
    body: modernBody('subscriptions/listen', { notifications: { toolsListChanged: true } })
  })

test('streams that only listen do not hold the stop, of either era', async (t) => {
  // a shutdown that never completes must outlast the test
  const mcp = await startMcp(t, { TOWPATH_DRAIN_TIMEOUT_MS: '3600000' })
  const session = await mcp.initialize()
  const modern = await listen(t, mcp)
  const legacy = await openStream(t, mcp.url, { headers: { accept: 'text/event-stream', ...session } })
  assert.deepEqual([modern.status, legacy.status], [200, 200])

  await mcp.app.close()
  await until('the end of both', () => modern.hasEnded() && legacy.hasEnded())
  assert.equal(modern.messages.at(-1)?.id, 7)
  assert.equal(modern.messages.at(-1)?.result.resultType, 'complete')
})

test('a call under way is answered although the listening streams end first', async (t) => {
  const mcp = await startMcp(t)
  const upstream = await addRecorder(t, mcp, 'alpha')
  const stream = await listen(t, mcp)
  let isAnswered = false
  const answer = mcp.modern('tools/call', { name: 'alpha__slow', arguments: { ms: 600_000 } }).finally(() => {
    isAnswered = true
  })
  await until('the call upstream', () => upstream.requests.some(({ message }) => message?.method === 'tools/call'))

  const closed = mcp.app.close()
  await until('the end of the stream', stream.hasEnded)
  assert.equal(isAnswered, false)
  upstream.finish()
  const { status, body } = await answer
  assert.deepEqual([status, body.error], [200, undefined])
  await closed
})
