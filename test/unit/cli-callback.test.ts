import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { listenForCallback } from '../../src/cli/io/callback.ts'

/** Sends raw bytes. Returns the status of the response, or '' if the connection was closed without one. */
const sendRaw = (port: number, bytes: string) =>
  new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    socket.on('error', () => resolve(''))
    socket.on('close', () => resolve(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? ''))
  })

const targets = [
  '//',
  '///',
  '//:0',
  '//[',
  'http://',
  'http://[',
  'http://a:99999/',
  '*',
  '/%',
  '/\\',
  '/oauth/callback?%',
  '?'
]

test('SR-L11 no request line ends the wait for a sign-in', async (t) => {
  const callback = await listenForCallback()
  t.after(callback.close)
  const port = Number(new URL(callback.redirectUri).port)
  const returned = callback.waitForResponse('s', new AbortController().signal)
  for (const target of targets) {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const status = await sendRaw(port, `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      assert.match(status, /^(400|404)$/, `${method} ${target}`)
    }
  }
  for (const bytes of ['\0\0\0', 'GET\r\n\r\n', '{}', 'GET / HTTP/9.9\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'])
    await sendRaw(port, bytes)
  const page = await fetch(`${callback.redirectUri}?state=s&code=c`)
  assert.equal(page.status, 200)
  assert.deepEqual(await returned, { code: 'c', state: 's' })
})
