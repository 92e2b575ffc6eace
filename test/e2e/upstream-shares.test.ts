import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { actorAt, key, type Actor } from './enterprise.ts'
import { root, startGateway } from './harness.ts'

const ADMIN = 'shares-admin-token-0123456789'
const META = 'io.modelcontextprotocol/clientCapabilities'

/** Starts an enterprise gateway with two clients, or a development-mode one where both are anonymous. */
async function setUp(t: TestContext, env: Record<string, string> = {}, isEnterprise = true) {
  const enterprise = isEnterprise ? { ...key, TOWPATH_ADMIN_TOKEN: ADMIN } : {}
  const gateway = await startGateway(t, { env: { ...enterprise, ...env } })
  const admin = actorAt(t, gateway.url, isEnterprise ? ADMIN : undefined)
  const client = async (name: string): Promise<Actor> => {
    if (!isEnterprise) return admin
    const made = await admin.post('/api/v0/clients', { name, allowed_servers: ['*'] })
    assert.equal(made.status, 201, made.text)
    return actorAt(t, gateway.url, made.body.access_token as string)
  }
  const register = async (server: object) => {
    const made = await admin.post('/api/v0/servers', { session_mode: 'stateful', ...server })
    assert.equal(made.status, 201, made.text)
  }
  return { admin, attacker: await client('attacker'), victim: await client('victim'), register }
}

const stdio = {
  name: 'pipe',
  transport: 'stdio',
  command: process.execPath,
  args: [join(root, 'test/fixtures/stdio/good.mjs')]
}

const modernCall = (actor: Actor, name: string, capabilities: object = {}) =>
  actor.modern('tools/call', { name, arguments: {}, _meta: { [META]: capabilities } })

const pidOf = async (answer: ReturnType<Actor['modern']>): Promise<string> => {
  const { body, text } = await answer
  assert.ok(body.result, text)
  return body.result.content[0].text as string
}

/** Returns capabilities that mean the same to an upstream that requests input, with a different JSON text for each `at`. */
const sameCapabilities = (at: number): object => ({
  experimental: { [`x${at}`]: {} },
  [`other${at}`]: true,
  extensions: { [`example.org/${at}`]: {} },
  ...(at % 2 === 0 ? { roots: {}, sampling: {} } : { sampling: {}, roots: {} })
})

for (const mode of ['enterprise', 'development'] as const) {
  test(`SR-M6 capabilities that upstreams are not asked by do not multiply upstream sessions, over stdio, HTTP and SSE, in ${mode} mode`, async (t) => {
    const { attacker, register } = await setUp(t, {}, mode === 'enterprise')
    const http = await startRecorder(null)
    const sse = await startSse(null)
    for (const { close } of [http, sse]) addCleanup(t, close)
    await register(stdio)
    await register({ name: 'http', transport: 'streamable_http', url: http.url })
    await register({ name: 'sse', transport: 'sse', url: sse.url })
    const pids = new Set<string>()
    for (let at = 0; at < 12; at++) {
      pids.add(await pidOf(modernCall(attacker, 'pipe__pid', sameCapabilities(at))))
      for (const name of ['http__echo', 'sse__echo']) {
        const { body, text } = await modernCall(attacker, name, sameCapabilities(at))
        assert.ok(body.result, text)
      }
    }
    assert.deepEqual([pids.size, http.sessions.size, sse.streams.size], [1, 1, 1])
  })
}

test('SR-M6 capabilities that upstreams may ask by have sessions of their own, with what the client declared', async (t) => {
  const { attacker, register } = await setUp(t)
  await register(stdio)
  const declared = async (capabilities: object) => {
    const { body } = await modernCall(attacker, 'pipe__capabilities', capabilities)
    return JSON.parse(body.result.content[0].text as string) as unknown
  }
  assert.deepEqual(await declared({}), {})
  assert.deepEqual(await declared({ experimental: { x: {} } }), {})
  const sampling = {
    sampling: { tools: {}, x: 1 },
    elicitation: { url: {}, form: { y: 1 } },
    roots: { listChanged: true }
  }
  assert.deepEqual(await declared(sampling), {
    sampling: { tools: {} },
    elicitation: { form: {}, url: {} },
    roots: { listChanged: true }
  })
})

const eras = {
  legacy: async (actor: Actor, name: string) =>
    actor.legacy('tools/call', { name, arguments: {} }, await actor.initialize()),
  modern: (actor: Actor, name: string, at: number) =>
    modernCall(actor, name, at % 2 === 0 ? { roots: {} } : { sampling: {} })
}

test('SR-M6 one client takes neither all processes nor the stateful session of another', async (t) => {
  const { attacker, victim, register } = await setUp(t, {
    TOWPATH_STDIO_PROCESSES: '4',
    TOWPATH_CONNECT_TIMEOUT_MS: '5000'
  })
  await register(stdio)
  const session = await victim.initialize()
  const own = () => pidOf(victim.legacy('tools/call', { name: 'pipe__pid', arguments: {} }, session))
  const before = await own()
  for (let at = 0; at < 6; at++) for (const call of Object.values(eras)) await call(attacker, 'pipe__pid', at)
  assert.equal(await own(), before)
  // slots remain for other callers, since the attacker's own sessions evicted each other
  assert.notEqual(await pidOf(modernCall(victim, 'pipe__pid')), before)
  assert.equal(await own(), before)
})

test('SR-M6 a client that uses its share of processes waits for its own, and others do not wait for it', async (t) => {
  const { attacker, victim, register } = await setUp(t, {
    TOWPATH_STDIO_PROCESSES: '4',
    TOWPATH_STDIO_PROCESSES_PER_PRINCIPAL: '2',
    TOWPATH_CONNECT_TIMEOUT_MS: '4000',
    TOWPATH_SPARE_SESSIONS: '0'
  })
  await register({ ...stdio, session_mode: 'stateless' })
  const slow = () => attacker.modern('tools/call', { name: 'pipe__slow', arguments: { ms: 3_600_000 } })
  for (const held of [slow(), slow()]) held.catch(() => undefined)
  await until('both places are taken', async () => {
    const refused = await modernCall(attacker, 'pipe__echo')
    return refused.status === 429 && refused.headers.get('retry-after') !== null
  })
  assert.ok((await modernCall(victim, 'pipe__echo')).body.result)
})

for (const transport of ['streamable_http', 'sse'] as const) {
  test(`SR-M6 stateful sessions over ${transport} have a share for each client and a bound for all; a client's own gives way`, async (t) => {
    const { attacker, victim, register } = await setUp(t, {
      TOWPATH_UPSTREAM_SESSIONS: '6',
      TOWPATH_UPSTREAM_SESSIONS_PER_PRINCIPAL: '3'
    })
    const recorder = await startRecorder(null)
    const sse = await startSse(null)
    for (const { close } of [recorder, sse]) addCleanup(t, close)
    const isSse = transport === 'sse'
    await register({ name: 'far', transport, url: isSse ? sse.url : recorder.url })
    const open = () => (isSse ? new Set(sse.streams.keys()) : new Set(recorder.sessions))
    await modernCall(victim, 'far__echo')
    const [own] = [...open()]
    for (let at = 0; at < 8; at++) {
      const { body, text } = await eras.legacy(attacker, 'far__echo')
      assert.ok(body.result, text)
    }
    await until('the sessions that gave way are closed', () => open().size <= 4)
    assert.ok(open().has(own!), 'the session of the victim is still open')
    assert.ok((await modernCall(victim, 'far__echo')).body.result)
    assert.ok(open().has(own!))
  })
}

test('SR-M6 a client whose stateful sessions are all in use gets 429 with Retry-After, others go on', async (t) => {
  const { attacker, victim, register } = await setUp(t, { TOWPATH_UPSTREAM_SESSIONS_PER_PRINCIPAL: '2' })
  const recorder = await startRecorder(null)
  addCleanup(t, recorder.close)
  await register({ name: 'far', transport: 'streamable_http', url: recorder.url })
  const sessions = [await attacker.initialize(), await attacker.initialize(), await attacker.initialize()]
  const held = sessions
    .slice(0, 2)
    .map((session) => attacker.legacy('tools/call', { name: 'far__slow', arguments: { ms: 3_600_000 } }, session))
  await until('both calls are in progress', () => recorder.calls('tools/call').length === 2)
  const refused = await attacker.legacy('tools/call', { name: 'far__echo', arguments: {} }, sessions[2])
  assert.equal(refused.status, 429, refused.text)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.ok((await modernCall(victim, 'far__echo')).body.result)
  recorder.finish()
  for (const answer of await Promise.all(held)) assert.ok(answer.body.result, answer.text)
  const { body, text } = await attacker.legacy('tools/call', { name: 'far__echo', arguments: {} }, sessions[2])
  assert.ok(body.result, text)
})

test('SR-M6 in development mode, where everybody is one principal, all places may be taken', async (t) => {
  const { attacker, register } = await setUp(
    t,
    {
      TOWPATH_UPSTREAM_SESSIONS_PER_PRINCIPAL: '1',
      TOWPATH_STDIO_PROCESSES_PER_PRINCIPAL: '1',
      TOWPATH_STDIO_PROCESSES: '3'
    },
    false
  )
  const recorder = await startRecorder(null)
  addCleanup(t, recorder.close)
  await register({ name: 'far', transport: 'streamable_http', url: recorder.url })
  await register(stdio)
  for (let at = 0; at < 3; at++) {
    await eras.legacy(attacker, 'far__echo')
    assert.ok((await eras.legacy(attacker, 'pipe__pid')).body.result)
  }
  assert.equal(recorder.sessions.size, 3)
})
