import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import Fastify from 'fastify'
import errors from '../../src/plugins/errors.ts'
import registryPlugin from '../../src/plugins/registry.ts'
import { concern } from '../../src/routes/concern.ts'
import { unavailable } from '../../src/lib/errors.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { freshConfig } from '../app.ts'
import { needs } from '../needs.ts'
import { addCleanup, engines } from '../store.ts'
import { until } from '../until.ts'

const skip = needs('PostgreSQL', engines.includes('postgres'))

/** An app with the registry, and without the gateway. */
async function startApp(t: TestContext) {
  const config = await freshConfig(t)
  const open = async () => {
    const app = Fastify()
    await app.register(errors)
    const onFailure = (error: unknown) => assert.fail(String(error))
    await app.register(registryPlugin, { config, onProgress: undefined, onFailure })
    addCleanup(t, () => app.close())
    await until('the registry to be open', () => app.registry)
    return app
  }
  return { app: await open(), open }
}

const gone = { statusCode: 503, message: 'the registry database is not reachable' }

test('a failed start of the gateway closes the registry, which can be opened again', async (t) => {
  const { app, open } = await startApp(t)
  app.startOnRegistry(async () => {
    throw new Error('the gateway cannot start')
  })
  await assert.rejects(async () => app.ready(), /the gateway cannot start/)
  assert.throws(() => app.registry, gone)
  // the data folder of a registry that is still open is locked
  const again = await open()
  await again.registry.ping()
})

test('a start that fails with a 503 is repeated on a registry that is opened anew', async (t) => {
  const { app } = await startApp(t)
  const seen: Registry[] = []
  const events: string[] = []
  const start = async (registry: Registry) => {
    if (seen.push(registry) < 3) throw unavailable('the database has gone away')
    return async () => {
      await registry.ping()
      events.push('closed while the registry was open')
    }
  }
  app.startOnRegistry(start)
  await app.ready()
  await until('the third attempt', () => seen.length === 3 && app.registry === seen[2])
  assert.equal(new Set(seen).size, 3)
  await app.close()
  assert.deepEqual(events, ['closed while the registry was open'])
})

test('a gateway that starts longer than the app waits for it is started once', { skip }, async (t) => {
  const config = await freshConfig(t, {}, 'postgres')
  const app = Fastify()
  await app.register(errors)
  await app.register(registryPlugin, {
    config,
    onProgress: undefined,
    onFailure: (error) => assert.fail(String(error))
  })
  addCleanup(t, () => app.close())
  let starts = 0
  let isStarted = false
  app.startOnRegistry(async (registry) => {
    starts++
    await new Promise((resolve) => setTimeout(resolve, 4_500))
    await registry.ping()
    isStarted = true
    return async () => {}
  })
  await app.ready()
  assert.equal(isStarted, false, 'the app waits for three seconds')
  await until('the gateway to be started', () => isStarted)
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.equal(starts, 1)
})

test('routes of a concern are refused on an app without the gateway', async (t) => {
  const { app } = await startApp(t)
  const registering = async () => app.register(concern('servers', async () => {}))
  await assert.rejects(registering, /'gateway' of plugin 'servers' is not registered/)
})
