import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { root, startGateway } from './harness.ts'
import { until } from '../until.ts'
import { descendants } from './process-tree.ts'

/** Returns a registration of a stdio server in `test/fixtures/stdio`. */
const fixture = (name: string, file: string, more: object = {}) => ({
  name,
  transport: 'stdio',
  command: process.execPath,
  args: [join(root, 'test/fixtures/stdio', file)],
  ...more
})

const textOf = (body: unknown) => (body as { content: { text: string }[] }).content[0]?.text

test('UP-09 a command that cannot be started or ends at once is refused with its cause', async (t) => {
  const gateway = await startGateway(t)
  const causes: [object, RegExp][] = [
    [fixture('alpha', 'exits.mjs'), /configuration is missing|code 3/],
    [{ name: 'alpha', transport: 'stdio', command: 'no-such-command-here' }, /no-such-command-here|not found/],
    [{ name: 'alpha', transport: 'stdio', command: root }, /is a directory/]
  ]
  for (const [registration, cause] of causes) {
    const result = await gateway.post('/api/v0/servers', registration)
    assert.equal(result.status, 502, result.text)
    assert.match(result.body.error, cause)
    assert.doesNotMatch(result.text, /\bat .*:\d+/)
  }
  assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])
  await until('every child to be gone', () => descendants(gateway.pid).length === 0)
})

test('UP-10 a stateful server that dies in a call fails that call, and the next one gets a new process', async (t) => {
  const gateway = await startGateway(t)
  await gateway.register(fixture('alpha', 'dies.mjs', { session_mode: 'stateful' }))
  const call = (name: string, args: object = {}) => gateway.post('/api/v0/tools/invoke', { name, ...args })
  const first = textOf((await call('alpha__pid')).body)
  assert.equal(textOf((await call('alpha__pid')).body), first, 'a stateful server keeps its process')
  for (const how of [{ code: 1 }, { code: 0 }, { signal: 'SIGKILL' }]) {
    const before = textOf((await call('alpha__pid')).body)
    const result = await call('alpha__die', how)
    assert.deepEqual([result.status, typeof result.body.error], [502, 'string'])
    const after = await until('a new process', async () => textOf((await call('alpha__pid')).body))
    assert.notEqual(after, before)
  }
})

test('UP-11 what a server prints between its messages does not disturb a call', async (t) => {
  const gateway = await startGateway(t)
  await gateway.register(fixture('alpha', 'noisy.mjs', { env: { JUNK: '5000' } }))
  for (const text of ['one', 'two']) {
    const { status, body } = await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo', text })
    assert.deepEqual([status, textOf(body)], [200, text])
  }
  assert.ok(gateway.output().length < 100_000, 'noise is logged within bounds')
})

test('UP-12 a server that stops reading fails its own call at the limit and nothing else', async (t) => {
  const gateway = await startGateway(t, { env: { TOWPATH_CALL_TIMEOUT_MS: '5000' } })
  await gateway.register(fixture('deaf', 'deaf.mjs', { session_mode: 'stateful' }))
  await gateway.register(fixture('good', 'good.mjs', { session_mode: 'stateful' }))
  let isOver = false
  const deaf = { name: 'deaf__echo', text: 'x'.repeat(800_000) }
  const stuck = gateway.post('/api/v0/tools/invoke', deaf).finally(() => (isOver = true))
  for (let count = 0; count < 10; count++) {
    const result = await gateway.post('/api/v0/tools/invoke', { name: 'good__echo', text: 'ok' })
    assert.equal(result.status, 200, result.text)
    if (count === 0) assert.equal(isOver, false, 'it is not waited for')
  }
  const result = await stuck
  assert.deepEqual([result.status, typeof result.body.error], [504, 'string'])
})

test('UP-18 stateless processes never exceed their cap; what waits too long is turned away', async (t) => {
  const gateway = await startGateway(t, { env: { TOWPATH_SPARE_SESSIONS: '0' } })
  await gateway.register(fixture('alpha', 'good.mjs'))
  let most = 0
  const sampler = setInterval(() => {
    most = Math.max(most, descendants(gateway.pid).length)
  }, 50)
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo', text: String(index) })
    )
  )
  clearInterval(sampler)
  assert.ok(most > 1 && most <= 32, `${most} processes`)
  for (const [index, { status, headers, body, text }] of answers.entries()) {
    if (status === 200) assert.equal(textOf(body), String(index))
    else assert.ok([429, 503].includes(status) && headers.has('retry-after'), `${status} ${text}`)
  }
  assert.ok(answers.filter(({ status }) => status === 200).length >= 128)
  await until('every child to be gone', () => descendants(gateway.pid).length === 0)
})
