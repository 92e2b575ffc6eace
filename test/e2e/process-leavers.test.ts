import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { root, startGateway, type Gateway } from './harness.ts'
import { findProcesses } from './process-tree.ts'

const file = (name: string) => join(root, 'test/fixtures/stdio', name)

/** Number of processes for each way to leave. */
const ways = { setsid: 2, detached: 3, daemon: 2, 'no environment': 2 }
type Way = keyof typeof ways

const nameOf = (way: Way) => way.replaceAll(' ', '-')

function leaving(way: Way, token: string, session_mode: 'stateless' | 'stateful') {
  const args = [file('leaving.mjs'), way, token]
  const outside = ['-c', 'exec setsid -w "$@"', 'sh', process.execPath, ...args]
  const started = way === 'setsid' ? { command: 'sh', args: outside } : { command: process.execPath, args }
  return { name: nameOf(way), transport: 'stdio', session_mode, ...started }
}

/** Returns a marker for command lines; processes with it that still run are killed when the test ends. */
function freshToken(t: TestContext): string {
  const token = randomUUID()
  addCleanup(t, () => {
    for (const { pid } of findProcesses(token)) process.kill(pid, 'SIGKILL')
  })
  return token
}

/** Starts an unrelated process that has also left its session, with the mark of another gateway. */
function startBystander(t: TestContext): string {
  const token = freshToken(t)
  const env = { ...process.env, TOWPATH_STDIO_SESSION: `${randomUUID()}.0` }
  spawn('sh', [file('lingering.sh'), token], { detached: true, stdio: 'ignore', env })
  return token
}

const call = async (gateway: Gateway, way: Way) => {
  const { status, text } = await gateway.post('/api/v0/tools/invoke', { name: `${nameOf(way)}__pid` })
  assert.equal(status, 200, text)
}
const waitUntilGone = (token: string, when: string) =>
  until(`the end of all ${when}`, () => findProcesses(token).length === 0)
const waitUntilStarted = (way: Way, token: string) =>
  until(`all of "${way}"`, () => findProcesses(token).length >= ways[way])

const allWays = Object.keys(ways) as Way[]

test('CR-A6: what a stdio server starts outside its session ends with it', { concurrency: true }, async (t) => {
  const gateway = await startGateway(t, { env: { TOWPATH_SPARE_SESSIONS: '0' } })
  const bystander = startBystander(t)
  // together: each end takes seconds
  const ends = allWays.map((way) =>
    t.test(`CR-A6: however it leaves: ${way}`, async (each) => {
      const token = freshToken(each)
      await gateway.register(leaving(way, token, 'stateless'))
      await waitUntilGone(token, 'after the registration')
      await call(gateway, way)
      await waitUntilGone(token, 'after a call')
      assert.equal((await gateway.remove(`/api/v0/servers/${nameOf(way)}`)).status, 204)

      await gateway.register(leaving(way, token, 'stateful'))
      await call(gateway, way)
      await waitUntilStarted(way, token)
      assert.equal((await gateway.remove(`/api/v0/servers/${nameOf(way)}`)).status, 204)
      await waitUntilGone(token, 'after the removal')
    })
  )
  await Promise.all(ends)
  assert.equal(findProcesses(bystander).length, 1, "another's process is left alone")
})

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`CR-A6: what stdio servers have started outside their sessions does not outlive a gateway that got ${signal}`, async (t) => {
    const gateway = await startGateway(t)
    const bystander = startBystander(t)
    const tokens = new Map(allWays.map((way) => [way, freshToken(t)]))
    const starts = [...tokens].map(async ([way, token]) => {
      await gateway.register(leaving(way, token, 'stateful'))
      await call(gateway, way)
      await waitUntilStarted(way, token)
    })
    await Promise.all(starts)
    const code = await gateway.stop(signal)
    if (signal === 'SIGTERM') {
      assert.equal(code, 0, 'a clean end')
      for (const [way, token] of tokens)
        assert.deepEqual(findProcesses(token), [], `nothing is left of "${way}" at its end`)
    }
    for (const [way, token] of tokens) await waitUntilGone(token, `of "${way}"`)
    assert.equal(findProcesses(bystander).length, 1, "another's process is left alone")
  })
}
