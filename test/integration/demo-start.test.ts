import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { demoRegistration } from '../../src/demo/registration.ts'
import { freshConfig, openApp, register, stdioServer } from '../app.ts'
import { addCleanup } from '../store.ts'

/** Registers `first`, then restarts on the same store with the demo. Returns the registered servers and the log. */
async function restartWithDemo(t: TestContext, first: object) {
  const config = await freshConfig(t)
  const before = await openApp(config)
  await register(before, first)
  await before.close()
  const lines: string[] = []
  const app = await openApp({ ...config, demo: true }, { log: { write: (line) => lines.push(line) } })
  addCleanup(t, () => app.close())
  const server = (await app.inject('/api/v0/servers/demo')).json<{ args: string[] }>()
  return { server, warnings: lines.filter((line) => /"level":[456]0/.test(line)) }
}

test('--demo leaves a server alone that somebody else registered as "demo", and says so in one line', async (t) => {
  const own = stdioServer('demo')
  const { server, warnings } = await restartWithDemo(t, own)
  assert.deepEqual(server.args, own.args)
  assert.equal(warnings.length, 1)
  assert.match(warnings[0]!, /--demo has no effect: .*registered as \\"demo\\"/)
})

test('--demo replaces the demo of an installation at another path', async (t) => {
  const here = demoRegistration()
  const script = here.args.at(-1)!
  const elsewhere = script.replace('/src/demo/', '/src/../src/demo/')
  assert.notEqual(elsewhere, script)
  const { server, warnings } = await restartWithDemo(t, { ...here, args: [...here.args.slice(0, -1), elsewhere] })
  assert.deepEqual(warnings, [])
  assert.deepEqual(server.args, here.args)
})
