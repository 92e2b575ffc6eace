import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { cellsOf } from '../matrix.ts'
import { engines, freshPlace, type Engine } from '../store.ts'
import { until } from '../until.ts'
import { actorAt, createUser, initialize, key, type Actor } from './enterprise.ts'
import { startGateway, type Answer, type Gateway } from './harness.ts'
import { registrationOf, sendResult, startUpstream, textResult, type Upstream } from './upstream.ts'
import { needs } from '../needs.ts'

const MB = 1_024 * 1_024
/** Calls that the upstream answers almost completely but never finishes: the partial results fill the memory. */
const HUNG_CALLS = 20
const PART_BYTES = 15 * MB
/** Memory limit of the process: less than all partial results take, more than the gateway needs without them. */
const limitMb: Readonly<Record<Engine, number>> = { pglite: 440, postgres: 352 }
const skip = needs('/proc', existsSync('/proc/self/status'))

interface Scene {
  readonly gateway: Gateway
  readonly admin: Actor
  /** A caller without any permission; absent in development mode. */
  readonly anonymous: Actor
  /** Creates a new caller that calls tools over REST. */
  newCaller(): Promise<Actor>
}

type Mode = 'development' | 'enterprise'

async function start(t: TestContext, mode: Mode, engine: Engine): Promise<Scene> {
  const env = {
    NODE_OPTIONS: '--max-old-space-size=512',
    TOWPATH_MEMORY_LIMIT_BYTES: String(limitMb[engine] * MB),
    // the limit per server is a quarter of this; the default is too low to fill the memory
    TOWPATH_PENDING_BYTES: String(1_024 * MB),
    ...(mode === 'enterprise' && key)
  }
  const gateway = await startGateway(t, { place: await freshPlace(t, engine), env })
  const anonymous = actorAt(t, gateway.url)
  if (mode === 'development') return { gateway, admin: anonymous, anonymous, newCaller: async () => anonymous }
  const admin = actorAt(t, gateway.url, await initialize(gateway))
  const newCaller = async () => actorAt(t, gateway.url, await createUser(admin, { name: 'caller' }))
  return { gateway, admin, anonymous, newCaller }
}

const startHog = (t: TestContext): Promise<Upstream> => {
  const part = Buffer.alloc(PART_BYTES, 'x')
  return startUpstream(t, 'hog', {
    onCall(message, response) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[{"type":"text","text":"`)
      response.write(part)
    }
  })
}

const invoke = (caller: Actor, name: string) => caller.post('/api/v0/tools/invoke', { name })

async function register(admin: Actor, name: string, upstream: Upstream): Promise<void> {
  const answer = await admin.post('/api/v0/servers', registrationOf(name, upstream))
  assert.equal(answer.status, 201, answer.text)
}

/** Requests with which an administrator finds the cause. */
const finding: Readonly<Record<Mode, readonly string[]>> = {
  development: [
    ...['/', '/api/dashboard/servers', '/api/dashboard/servers/hog', '/api/dashboard/overview'],
    ...['/api/dashboard/tool-groups', '/api/dashboard/diagnostics', '/api/dashboard/calls'],
    ...['/api/v0/servers', '/api/v0/servers/hog', '/api/v0/server_configs', '/api/v0/tool-groups', '/api/v0/audit'],
    '/api/v0/calls'
  ],
  enterprise: [
    ...['/api/v0/servers', '/api/v0/servers/hog', '/api/v0/server_configs', '/api/v0/tool-groups', '/api/v0/audit'],
    ...['/api/v0/calls', '/api/v0/users', '/api/v0/users/whoami', '/api/v0/clients']
  ]
}

type Remedies = Readonly<Record<string, (admin: Actor) => Promise<Answer>>>

/** Actions that remove the cause. */
const remedies: Readonly<Record<Mode, Remedies>> = {
  development: {
    'POST disable': (admin) => admin.post('/api/v0/servers/hog/disable'),
    'PATCH enabled': (admin) => admin.send('PATCH', '/api/dashboard/servers/hog/enabled', { enabled: false }),
    'DELETE of the server': (admin) => admin.remove('/api/dashboard/servers/hog')
  },
  enterprise: {
    'POST disable': (admin) => admin.post('/api/v0/servers/hog/disable'),
    'DELETE of the server': (admin) => admin.remove('/api/v0/servers/hog'),
    'DELETE of the user': (admin) => admin.remove('/api/v0/users/caller')
  }
}

async function checkFull(mode: Mode, { gateway, admin, anonymous }: Scene, caller: Actor): Promise<void> {
  assert.equal((await gateway.get('/health')).status, 200)
  const refused = await invoke(caller, 'good__echo')
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
  assert.equal((await admin.post('/api/v0/servers', { name: 'x' })).status, 503, 'what adds something is refused')
  for (const path of finding[mode]) assert.equal((await admin.get(path)).status, 200, path)
  if (mode === 'development') return
  assert.equal((await caller.get('/api/v0/servers')).status, 503, 'users wait')
  assert.equal((await anonymous.get('/api/v0/servers')).status, 401)
  assert.equal((await anonymous.remove('/api/v0/servers/hog')).status, 401)
}

const rssMb = ({ pid }: Gateway) =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024)

const isReady = async ({ gateway }: Scene) => (await gateway.get('/ready')).status === 200

// an enterprise gateway behaves the same with either store, and the embedded one takes longer to start
const cells = cellsOf(['development', 'enterprise'] as const, engines).filter(
  ([mode, engine]) => mode === 'development' || engine === 'postgres'
)

for (const [mode, engine] of cells) {
  const title = `SR-H3 with its memory full an administrator finds and removes the cause in ${mode} mode (${engine})`
  test(`${title}, again and again, whatever pages the allocator keeps`, { skip }, async (t) => {
    const scene = await start(t, mode, engine)
    const { gateway, admin } = scene
    const hog = await startHog(t)
    await register(
      admin,
      'good',
      await startUpstream(t, 'good', {
        onCall: (message, response) => sendResult(response, message, textResult('fine'))
      })
    )
    for (const [remedy, apply] of Object.entries(remedies[mode])) {
      await admin.remove('/api/v0/servers/hog')
      await register(admin, 'hog', hog)
      if (mode === 'enterprise') await admin.remove('/api/v0/users/caller')
      const caller = await scene.newCaller()
      assert.equal((await invoke(caller, 'good__echo')).status, 200, remedy)
      const before = rssMb(gateway)
      const calls = Array.from({ length: HUNG_CALLS }, () => invoke(caller, 'hog__echo'))
      await until('the gateway to take no more', async () => !(await isReady(scene)))
      const full = rssMb(gateway)
      await checkFull(mode, scene, caller)
      const done = await apply(admin)
      assert.ok(done.status < 300, `${remedy}: ${done.text}`)
      for (const { status } of await Promise.all(calls)) assert.ok(status >= 400, `${remedy}: ${status}`)
      await until(`work to be taken again after ${remedy}`, () => isReady(scene))
      t.diagnostic(`${remedy}: RSS ${before} MB before, ${full} MB full, ${rssMb(gateway)} MB when work is taken again`)
      assert.equal((await invoke(survivor(scene, remedy, caller), 'good__echo')).status, 200, remedy)
    }
  })
}

/** Returns a caller whose token still works after the remedy. */
const survivor = ({ admin }: Scene, remedy: string, caller: Actor) => (remedy === 'DELETE of the user' ? admin : caller)
