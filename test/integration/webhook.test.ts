import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createWebhook } from '../../src/control/webhook.ts'
import { createBoundedFetch } from '../../src/upstream/oauth/bounded-fetch.ts'
import { egressOf } from '../egress.ts'
import { startHttp, type Handler } from '../fixtures/http/server.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'

const secret = 'secret-of-the-webhook-of-these-tests'

/** Starts a webhook whose server answers like this; the log has what could not be sent. */
async function startWebhook(t: TestContext, handle: Handler, { maxBytes = 65_536, tryMs = 5_000 } = {}) {
  let asked = 0
  const http = await startHttp((request, response) => {
    asked++
    return handle(request, response)
  })
  addCleanup(t, http.close)
  const egress = egressOf()
  addCleanup(t, egress.close)
  const fetchFor = createBoundedFetch({ egress, userAgent: 'test' })
  const url = `${http.origin}/hooks/token-in-the-path?key=token-in-the-query`
  const lines: string[] = []
  const warn = (details: object, text: string) =>
    void lines.push(
      text + JSON.stringify(details, (_key, value) => (value instanceof Error ? `${value.stack}` : (value as unknown)))
    )
  const triesMs = [0, 1, 1]
  const webhook = createWebhook({ url, secret, request: fetchFor(url, maxBytes, tryMs), log: { warn }, triesMs })
  addCleanup(t, webhook.close)
  return {
    webhook,
    lines,
    asked: () => asked,
    post: () => webhook.post({ text: 'argument-of-a-call' }, { approval: '7' })
  }
}

/** The only line of the log tells which message it was, and nothing of its content or address. */
function assertDiscreet([line, ...others]: readonly string[]) {
  assert.deepEqual(others, [])
  assert.match(line!, /did not reach the webhook.*"approval":"7"/)
  assert.doesNotMatch(line!, /token-in|argument-of|secret-of/)
}

test('AP-09 a webhook is asked three times, and no redirect is followed', async (t) => {
  let elsewhere = 0
  const other = await startHttp((_request, response) => {
    elsewhere++
    response.writeHead(204).end()
  })
  addCleanup(t, other.close)
  for (const status of [301, 302, 307, 308]) {
    const { post, lines, asked } = await startWebhook(
      t,
      (_request, response) => void response.writeHead(status, { location: `${other.origin}/token-in-a-redirect` }).end()
    )
    post()
    await until('the message is given up', () => lines.length > 0)
    assertDiscreet(lines)
    assert.deepEqual([asked(), elsewhere], [3, 0], String(status))
  }
})

test('AP-09 an endless or silent answer of a webhook ends with its limits', async (t) => {
  const endless = await startWebhook(t, (_request, response) => {
    response.writeHead(200)
    const write = () => {
      while (response.write('x'.repeat(16_384)));
    }
    response.on('drain', write).on('error', () => {})
    write()
  })
  const silent = await startWebhook(t, () => {}, { tryMs: 100 })
  for (const { post, lines, asked } of [endless, silent]) {
    post()
    await until('the message is given up', () => lines.length > 0)
    assertDiscreet(lines)
    assert.equal(asked(), 3)
  }
})

test('AP-09 a webhook that answers nothing holds a bounded number of messages', async (t) => {
  const { post, lines, asked, webhook } = await startWebhook(t, () => {}, { tryMs: 60_000 })
  for (let n = 0; n < 150; n++) post()
  assert.equal(lines.length, 50)
  for (const line of lines) assert.match(line, /too many messages/)
  await until('messages are on their way', () => asked() > 0)
  webhook.close()
  assert.equal(lines.length, 50, 'what is given up at the end is no failure')
})
