import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { administration, everyday, initServer, type ExpectedMember, type Step } from '../fixtures/mcpjungle/requests.ts'
import { actorAt, skip, startEmpty, startEnterprise, type Actor } from './enterprise.ts'
import { startGateway } from './harness.ts'
import { addCleanup } from '../store.ts'

const isText = (value: unknown) => typeof value === 'string'
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
  text: isText,
  object: isObject,
  texts: (value) => Array.isArray(value) && value.every(isText),
  objects: (value) => Array.isArray(value) && value.length > 0 && value.every(isObject)
}

const at = (body: unknown, path: string): unknown =>
  (path === '' ? [] : path.split('.')).reduce<unknown>(
    (value, member) => (value as Readonly<Record<string, unknown>> | undefined)?.[member],
    body
  )

function check(read: ExpectedMember, value: unknown, what: string): void {
  if (typeof read !== 'string') assert.deepEqual(value, read.is, what)
  else assert.ok(checks[read]!(value), `${what} must be ${read}: ${JSON.stringify(value)}`)
}

/** Sends a request and reads the response as the client does. */
async function replay(actor: Actor, { command, method, path, body, status, reads = {} }: Step): Promise<unknown> {
  const answer = await actor.send(method, path, body)
  assert.equal(answer.status, status, `${command}: ${answer.text}`)
  for (const [member, read] of Object.entries(reads)) {
    check(read, at(answer.body, member), `${command} reads ${member || 'the answer'}`)
  }
  return answer.body
}

test('CR-F4: every request of the MCPJungle command line is answered as it reads it (development)', async (t) => {
  const recorder = await startRecorder(null, {})
  addCleanup(t, recorder.close)
  const actor = actorAt(t, (await startGateway(t)).url)
  for (const step of everyday(recorder.url)) await replay(actor, step)
})

test(
  'CR-F4: every request of the MCPJungle command line is answered as it reads it (enterprise)',
  { skip },
  async (t) => {
    const recorder = await startRecorder(null, {})
    addCleanup(t, recorder.close)
    const gateway = await startEmpty(t)
    const made = (await replay(actorAt(t, gateway.url), initServer)) as { admin_access_token: string }
    const actor = actorAt(t, gateway.url, made.admin_access_token)
    for (const step of [...everyday(recorder.url), ...administration]) await replay(actor, step)
  }
)

test('CR-F4: two spellings of one member must not differ, and nothing is stored where they do', { skip }, async (t) => {
  const { admin } = await startEnterprise(t)
  const before = [(await admin.get('/api/v0/users')).body, (await admin.get('/api/v0/clients')).body]
  const same = (member: string, alias: string) => `"${alias}" is an alias of "${member}": the two must not differ`
  const token = 'a-token-of-this-test'
  for (const [method, path, body, error] of [
    ['POST', '/users', { name: 'ann', username: 'bob' }, same('name', 'username')],
    ['POST', '/users', { role: 'user' }, '"name" is required'],
    ['POST', '/users', { name: 'ann', is_admin: true }, 'unknown member "is_admin"'],
    ['PUT', '/users/user', { username: 'admin' }, '"username" must be the name in the path: a user cannot be renamed'],
    ['PUT', '/users/user', { name: 'admin' }, '"name" must be the name in the path: a user cannot be renamed'],
    ['PUT', '/users/user', { name: 'user', username: 'admin' }, same('name', 'username')],
    [
      'POST',
      '/clients',
      { name: 'c', allowed_servers: ['a'], allow_list: ['b'] },
      same('allowed_servers', 'allow_list')
    ],
    ['POST', '/clients', { name: 'c', allowed_servers: [], allow_list: ['*'] }, same('allowed_servers', 'allow_list')],
    ['PUT', '/clients/cli-a', { allowed_servers: ['*'], allow_list: [] }, same('allowed_servers', 'allow_list')],
    [
      'POST',
      '/clients',
      { name: 'c', is_custom_access_token: true },
      '"is_custom_access_token" requires "access_token"'
    ]
  ] as const) {
    const answer = await admin.send(method, `/api/v0${path}`, body)
    assert.deepEqual([answer.status, answer.body], [400, { error }], `${method} ${path} ${JSON.stringify(body)}`)
  }
  const after = [(await admin.get('/api/v0/users')).body, (await admin.get('/api/v0/clients')).body]
  assert.deepEqual(after, before, 'nothing has changed')
  const both = { name: 'c', allowed_servers: ['a', 'b'], allow_list: ['a', 'b'], access_token: token }
  assert.equal((await admin.post('/api/v0/clients', both)).status, 201, 'the same in both spellings')
  assert.equal((await admin.post('/api/v0/users', { name: 'eve', username: 'eve' })).status, 201, 'the same name twice')
})

test(
  'CR-F4: an empty description clears it, but not beside the member that MCPJungle alone sends',
  { skip },
  async (t) => {
    const { admin } = await startEnterprise(t)
    assert.equal((await admin.post('/api/v0/clients', { name: 'c', description: 'D' })).status, 201, 'made')
    const described = async (body: object) => (await admin.put('/api/v0/clients/c', body)).body.description as unknown
    assert.equal(await described({ description: '', is_custom_access_token: false }), 'D', 'kept')
    assert.equal(await described({ description: 'E', is_custom_access_token: false }), 'E', 'changed')
    assert.equal(await described({ description: '' }), undefined, 'cleared')
  }
)

test('CR-F4: whoever may read resources may ask for one as MCPJungle does, and nobody else', { skip }, async (t) => {
  const { admin, user, cliAll, as } = await startEnterprise(t)
  const recorder = await startRecorder(null, {})
  addCleanup(t, recorder.close)
  const server = { name: 'notes', transport: 'streamable_http', url: recorder.url }
  assert.equal((await admin.post('/api/v0/servers', server)).status, 201, 'registered')
  const body = { uri: 'fixture://note' }
  for (const [who, actor, status] of [
    ['admin', admin, 200],
    ['user', user, 200],
    ['client', cliAll, 403],
    ['nobody', as(), 401]
  ] as const) {
    const answer = await actor.post('/api/v0/resources/get', body)
    assert.equal(answer.status, status, `${who}: ${answer.text}`)
  }
  const other = await user.get(`/api/v0/resource?uri=${encodeURIComponent(body.uri)}`)
  assert.deepEqual((await user.post('/api/v0/resources/get', body)).body, other.body, 'the same record')
})
