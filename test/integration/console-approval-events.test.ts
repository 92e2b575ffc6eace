import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../until.ts'
import { startConsole } from './console-helpers.ts'

test('pages of the console are told when a yes is used', async (t) => {
  const { gateway, send } = await startConsole(t)
  const policy = { name: 'ask', effect: 'approve', targets: { servers: ['k8s'] }, approvers: { users: ['an-auditor'] } }
  assert.equal((await gateway.api('POST', '/policies', policy)).status, 201)
  const call = () => send('user', 'POST', '/api/v0/tools/invoke', { body: { name: 'k8s__echo', text: 'hi' } })
  assert.equal((await call()).status, 409)
  const pending = await send('admin', 'GET', '/api/v0/approvals?status=pending')
  const [entry] = (await pending.json()) as [{ id: string; fingerprint: string }]

  const stream = await send('admin', 'GET', '/api/console/events')
  assert.equal(stream.status, 200)
  let text = ''
  const reading = stream.body!.pipeTo(
    new WritableStream({ write: (chunk: Uint8Array) => void (text += Buffer.from(chunk).toString()) })
  )
  reading.catch(() => {})
  const approve = { body: { fingerprint: entry.fingerprint } }
  assert.equal((await send('admin', 'POST', `/api/v0/approvals/${entry.id}/approve`, approve)).status, 200)
  // longer than the pages are told of the decision, also by way of the database
  await delay(3_000)
  text = ''
  assert.equal((await call()).status, 200)
  await until('the event of the use', () => /"kinds":\[[^\]]*"approvals"/.test(text))
})
