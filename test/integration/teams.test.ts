import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectClient, listTools, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { k8sTools } from './policy-helpers.ts'

test('a policy for a team counts for its members and for the people of its groups, at once', async (t) => {
  const gateway = await startSignInGateway(t)
  const { api } = gateway
  const recorder = await startRecorder(t, { name: 'k8s', modern: true, extraTools: k8sTools })
  await api('POST', '/servers', { name: 'k8s', transport: 'streamable_http', url: recorder.url })
  const targets = { tools: ['get_*'] }
  const rule = await api('POST', '/policies', {
    name: 'core',
    effect: 'allow',
    subjects: { teams: ['core'] },
    targets
  })
  assert.equal(rule.status, 201)
  const tokens = new Map<string, string>()
  for (const person of ['alice', 'bob']) {
    tokens.set(person, (await connectClient(gateway, { person })).tokens.access_token)
  }
  const counts = async () => {
    const seen: string[] = []
    for (const [person, token] of tokens) {
      const { result } = (await (await listTools(gateway, token, '/mcp')).json()) as { result: { tools: object[] } }
      if (result.tools.length > 0) seen.push(person)
    }
    return seen
  }
  assert.deepEqual(await counts(), [])
  const made = await api('POST', '/teams', { name: 'core', groups: ['sales'] })
  assert.deepEqual([made.status, made.body], [201, { name: 'core', members: [], groups: ['sales'] }])
  assert.deepEqual(await counts(), ['bob'])
  const changed = await api('PUT', '/teams/core', { members: [{ user: 'alice', role: 'manager' }] })
  assert.deepEqual(changed.body, { name: 'core', members: [{ user: 'alice', role: 'manager' }], groups: [] })
  assert.deepEqual(await counts(), ['alice'])
  assert.deepEqual((await api('GET', '/users/alice')).body.teams, ['core'])
  assert.deepEqual((await api('GET', '/teams')).body, [changed.body])
  assert.equal((await api('DELETE', '/teams/core')).status, 204)
  assert.deepEqual(await counts(), [])
})

test('a team with unknown, repeated or too many parts is refused, and changes leave audit rows', async (t) => {
  const { api } = await startSignInGateway(t)
  const create = (body: object) => api('POST', '/teams', body)
  assert.equal((await create({ name: 'a b' })).status, 400)
  assert.equal((await create({ name: 'core', members: [{ user: 'nobody' }] })).status, 404)
  assert.deepEqual(await api('GET', '/teams').then(({ body }) => body), [], 'nothing of it was stored')
  assert.match(JSON.stringify((await create({ name: 'core', groups: ['sre', 'sre'] })).body), /named twice/)
  assert.equal((await create({ name: 'core', groups: Array.from({ length: 201 }, (_, i) => `g${i}`) })).status, 400)
  assert.equal((await create({ name: 'core', members: [{ user: 'x', role: 'owner' }] })).status, 400)
  assert.equal((await create({ name: 'core', groups: ['sre'] })).status, 201)
  assert.equal((await create({ name: 'core' })).status, 409)
  assert.equal((await api('PUT', '/teams/core', { name: 'other' })).status, 400)
  assert.equal((await api('PUT', '/teams/other', {})).status, 404)
  assert.equal((await api('DELETE', '/teams/core')).status, 204)
  assert.equal((await api('DELETE', '/teams/core')).status, 404)
  const { entries } = (await api('GET', '/audit')).body as unknown as { entries: { action: string; target?: string }[] }
  const actions = entries.map(({ action }) => action).filter((action) => action.startsWith('team.'))
  assert.deepEqual(actions.toSorted(), ['team.create', 'team.remove'])
})
