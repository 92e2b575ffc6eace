import assert from 'node:assert/strict'
import { test } from 'node:test'
import { as, startFiles, startPolicyGateway } from './policy-helpers.ts'

const evasive = [
  'file:///public/../secret/key.txt',
  'file:///public/./key.txt',
  'file:///public/..',
  'file:///public/%2e%2e/secret/key.txt',
  'file:///public/%252E./secret/key.txt',
  'file:///public/..%2fsecret/key.txt',
  'file:///public/..%5csecret/key.txt',
  'file:///public/\\..\\secret',
  'file:///public/..;a/secret/key.txt',
  'file:///public/?/../../secret/key.txt'
]

test('a URI that servers may read as another one is unknown where a policy decides by URIs', async (t) => {
  const { mcp, rest, agent, worker, alice, policy } = await startPolicyGateway(t)
  const files = await startFiles(t, ['file:///public/a.txt', 'file:///public/../b.txt'], 'file:///{+path}')
  await rest('POST', '/servers', { name: 'files', transport: 'streamable_http', url: files.url })
  const read = async (uri: string, token: string) => {
    const { result, error } = (await mcp.modern('resources/read', { uri }, as(token))).body
    return result ? 'read' : error!.message
  }
  const readOverRest = async (uri: string, token?: string) =>
    (await rest('POST', '/resources/read', { uri }, token)).status

  await policy('all', { effect: 'allow', subjects: { clients: ['agent'] }, targets: { servers: ['files'] } })
  for (const uri of evasive) assert.equal(await read(uri, agent), 'read', uri)
  const targets = { servers: ['files'], resources: ['file:///public/*'] }
  await policy('all', { effect: 'allow', subjects: { clients: ['agent'] }, targets })
  for (const uri of ['file:///public/a.txt', 'file:///public/other?x=a%2Fb', 'file:///public/../b.txt'])
    assert.equal(await read(uri, agent), 'read', uri)
  for (const uri of evasive)
    for (const form of [uri, `towpath://files/${uri}`])
      assert.equal(await read(form, agent), `Resource not found: ${form}`)

  await policy('no-secret', {
    effect: 'deny',
    subjects: { users: ['alice'] },
    targets: { servers: ['files'], resources: ['file:///secret/*'] }
  })
  await policy('admin-too', {
    effect: 'deny',
    subjects: { roles: ['admin'] },
    targets: { servers: ['files'] },
    when: 'tool.name == "file:///secret/key.txt"'
  })
  assert.deepEqual([await readOverRest('file:///public/x', alice), await readOverRest('file:///public/x')], [200, 200])
  for (const uri of evasive)
    for (const form of [uri, `towpath://files/${uri}`])
      assert.deepEqual([await readOverRest(form, alice), await readOverRest(form)], [404, 403], form)
  await policy('no-tools', { effect: 'deny', subjects: { clients: ['worker'] }, targets: { tools: ['x'] } })
  await rest('POST', '/policies', {
    name: 'worker',
    effect: 'allow',
    subjects: { clients: ['worker'] },
    targets: { servers: ['files'] }
  })
  for (const uri of evasive) assert.equal(await read(uri, worker), 'read', uri)
})

test('a denied resource is unknown in every spelling that parsers write alike, over MCP and REST', async (t) => {
  const { mcp, rest, agent, alice, policy } = await startPolicyGateway(t)
  const files = await startFiles(t, ['demo://secret', 'https://x.test/key'], 'demo://{+path}')
  await rest('POST', '/servers', { name: 'files', transport: 'streamable_http', url: files.url })
  await policy('all', { effect: 'allow', subjects: { clients: ['agent'] }, targets: { servers: ['files'] } })
  const read = async (uri: string) => (await mcp.modern('resources/read', { uri }, as(agent))).body.error?.message
  const spellings = [
    'DEMO://secret',
    'demo://sec%72et',
    'demo://Secret',
    'https://X.test/key',
    'https://x.test:443/key'
  ]
  const forms = spellings.flatMap((uri) => [uri, `towpath://files/${uri}`])
  for (const uri of forms.slice(0, 6)) assert.equal(await read(uri), undefined, uri)
  await policy('no-secrets', {
    effect: 'deny',
    targets: { servers: ['files'], resources: ['demo://secret', 'https://x.test/*'] }
  })
  for (const uri of [...forms, 'demo://secret', 'https://x.test/key']) {
    assert.equal(await read(uri), `Resource not found: ${uri}`)
    assert.equal((await rest('POST', '/resources/read', { uri }, alice)).status, 404, uri)
  }
  assert.equal(await read('demo://other'), undefined)
})
