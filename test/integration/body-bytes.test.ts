import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { startApp } from '../app.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'

const admin = 'bodies-admin-token-0123456789'
const LENGTH = 200_000
/** The quarter of one principal holds one such body, the total of development mode two. */
const env = { TOWPATH_CALL_BYTES: '500000', TOWPATH_REQUEST_BODY_TIMEOUT_MS: '60000' }
const modes = {
  development: { env, share: 2 },
  enterprise: {
    env: { ...env, TOWPATH_CALL_BYTES: '1000000', SERVER_MODE: 'enterprise', TOWPATH_ADMIN_TOKEN: admin },
    share: 1
  }
}

interface Receiver {
  /** Sends a whole request and resolves with its answer. */
  answerTo(path: string, who: 'one' | 'two', head: string, body: string): Promise<string>
  /** Sends the head of a request and this much of its body, and collects the answer. */
  open(path: string, who: 'one' | 'two', head: string, body: string): { socket: Socket; answer: () => string }
}

async function start(t: TestContext, mode: keyof typeof modes): Promise<Receiver> {
  const more = mode === 'enterprise' ? { TOWPATH_ENCRYPTION_KEY: 'aa'.repeat(32) } : {}
  const app = await startApp(t, { env: { ...modes[mode].env, ...more } })
  if (mode === 'enterprise') {
    for (const name of ['one', 'two']) {
      for (const [url, body] of [
        ['/api/v0/clients', { name, allowed_servers: ['*'], access_token: `bodies-${name}-token-0123456789` }],
        ['/api/v0/users', { username: name, access_token: `bodies-${name}-user-0123456789` }]
      ] as const) {
        const headers = { authorization: `Bearer ${admin}` }
        assert.equal((await app.inject({ method: 'POST', url, headers, payload: body })).statusCode, 201)
      }
    }
  }
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const open: Receiver['open'] = (path, who, head, body) => {
    const token = `bodies-${who}-${path.startsWith('/api') ? 'user' : 'token'}-0123456789`
    const fields = mode === 'enterprise' ? `authorization: Bearer ${token}\r\n` : ''
    let text = ''
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
    socket.on('data', (chunk: Buffer) => void (text += chunk.toString()))
    addCleanup(t, () => void socket.destroy())
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${fields}content-type: application/json\r\n` +
        `accept: application/json, text/event-stream\r\n${head}\r\n\r\n${body}`
    )
    return { socket, answer: () => text }
  }
  const answerTo: Receiver['answerTo'] = async (...request) => {
    const { socket, answer } = open(...request)
    await until('an answer', () => answer().includes('\r\n\r\n'))
    socket.destroy()
    return answer()
  }
  return { open, answerTo }
}

const known = `content-length: ${LENGTH}`
const part = 'x'.repeat(LENGTH / 2)
const whole = 'x'.repeat(LENGTH)
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const unknown = 'transfer-encoding: chunked'

const refused = /^HTTP\/1\.1 503 [^]*retry-after: 1[^]*too many request bodies/i
const invalid = /^HTTP\/1\.1 400 /

for (const mode of ['development', 'enterprise'] as const) {
  for (const path of ['/mcp', '/api/v0/tools/invoke']) {
    test(`SR-H2 bodies that a caller does not complete are bounded in bytes, at ${path} in ${mode} mode`, async (t) => {
      const { open, answerTo } = await start(t, mode)
      const held = Array.from({ length: modes[mode].share }, () => open(path, 'one', known, part))
      await until('a refusal', async () => refused.test(await answerTo(path, 'one', known, whole)))
      assert.ok(held.every(({ answer }) => answer() === ''))
      if (mode === 'enterprise') assert.match(await answerTo(path, 'two', known, whole), invalid)
      for (const { socket } of held) socket.destroy()
      await until('the bytes to be free', async () => invalid.test(await answerTo(path, 'one', known, whole)))
      assert.match(await answerTo(path, 'one', known, whole), invalid, 'a body that has arrived frees its bytes')
    })
  }

  test(`SR-H2 bodies of unknown length are counted while they arrive, in ${mode} mode`, async (t) => {
    const { open, answerTo } = await start(t, mode)
    const held = Array.from({ length: modes[mode].share }, () => open('/mcp', 'one', unknown, chunk(whole)))
    const ask = () => answerTo('/mcp', 'one', unknown, `${chunk(whole)}0\r\n\r\n`)
    await until('a refusal', async () => refused.test(await ask()))
    for (const { socket } of held) socket.write('0\r\n\r\n')
    for (const { answer } of held) await until('its answer', () => invalid.test(answer()))
    await until('the bytes to be free', async () => invalid.test(await ask()))
  })
}
