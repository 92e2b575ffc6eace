import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latencyPaths, latencyY, volumePaths } from '../../dashboard/src/calls/chart.ts'
import { appFacts, appOf } from '../../dashboard/src/resources/app.ts'
import { emptyForm, formOf, problemIn, problemsOf, toInput, toUpdate } from '../../dashboard/src/servers/server-form.ts'
import { targetOf } from '../../dashboard/src/servers/server-state.ts'
import type { ConfigSummary, ServerView } from '../../src/schemas/dashboard/servers.ts'

const view = (transport: ServerView['transport'], config: Partial<ConfigSummary>): ServerView => ({
  ...{ name: 'a', transport, enabled: true, status: 'connected' },
  ...{
    tool_count: 0,
    prompt_count: 0,
    resource_count: 0,
    skill_count: 0,
    left_out_count: 0,
    held_count: 0,
    updated_at: '2026-01-01T00:00:00Z'
  },
  config_summary: { kind: transport === 'stdio' ? 'stdio' : 'http', session_mode: 'stateful', ...config }
})

test('what is stored and not shown goes back as null, which keeps it', () => {
  const remote = view('streamable_http', {
    ...{ target: 'https://a.example/mcp?key=***', header_keys: ['X-Team'], has_bearer_token: true },
    ...{
      has_oauth_client: true,
      has_oauth_client_secret: true,
      oauth_scopes: ['read', 'write'],
      oauth_assume_pkce: true
    }
  })
  assert.deepEqual(toUpdate(formOf(remote)), {
    ...{ transport: 'streamable_http', session_mode: 'stateful', url: null, bearer_token: null },
    ...{ headers: { 'X-Team': null }, oauth_client_id: null, oauth_client_secret: null },
    oauth_scopes: ['read', 'write'],
    oauth_assume_pkce: true
  })
  assert.equal(toUpdate({ ...formOf(remote), apps: false }).apps, false)
  const off = formOf(view('stdio', { command: 'npx', apps: false }))
  assert.deepEqual([off.apps, toUpdate(off).apps], [false, false])
  assert.equal(toUpdate({ ...formOf(remote), trusted_annotations: true }).trusted_annotations, true)
  assert.equal(toUpdate(formOf(view('stdio', { command: 'npx', trusted_annotations: true }))).trusted_annotations, true)
  const local = view('stdio', { command: 'npx', args: ['-y', 'a b', '--token', '***'], env_keys: ['TOKEN'] })
  assert.deepEqual(toUpdate(formOf(local)), {
    ...{ transport: 'stdio', session_mode: 'stateful', command: 'npx', env: { TOKEN: null } },
    args: ['-y', 'a b', '--token', '***']
  })
  for (const args of [['-e', 'two\nlines'], ['']])
    assert.equal(toUpdate(formOf(view('stdio', { command: 'node', args }))).args, null)
})

test('a server is shown with its URL, or with its command and arguments', () => {
  const shown = (transport: ServerView['transport'], config: Partial<ConfigSummary>) =>
    targetOf(view(transport, config).config_summary)
  assert.equal(shown('sse', { target: 'https://a.example/sse' }), 'https://a.example/sse')
  assert.equal(shown('stdio', { command: 'npx', args: ['-y', 'pkg', 'a b', ''] }), 'npx -y pkg "a b" ""')
  assert.equal(shown('stdio', { command: 'server' }), 'server')
})

test('a new server has only what was filled in and belongs to its transport', () => {
  const form = { ...emptyForm, name: ' a ', url: ' https://a.example/mcp ', command: 'npx', args: '-y' }
  assert.deepEqual(toInput(form), {
    ...{ name: 'a', transport: 'streamable_http', session_mode: 'stateless', url: 'https://a.example/mcp' }
  })
  const pairs = [
    { key: 'A', value: '1' },
    { key: ' ', value: 'nobody’s' }
  ]
  assert.deepEqual(toInput({ ...form, transport: 'stdio', args: '-y\n\npackage with space\n', env: pairs }), {
    ...{ name: 'a', transport: 'stdio', session_mode: 'stateless', command: 'npx' },
    ...{ args: ['-y', 'package with space'], env: { A: '1' } }
  })
})

test('fields are held to their rules while they are typed, and missing ones only at the end', () => {
  assert.deepEqual(problemsOf(emptyForm, false), {})
  assert.deepEqual(Object.keys(problemsOf(emptyForm, true)), ['name', 'url'])
  assert.deepEqual(Object.keys(problemsOf({ ...emptyForm, name: 'a__b', url: 'ftp://x' }, false)), ['name', 'url'])
  assert.deepEqual(Object.keys(problemsOf({ ...emptyForm, name: 'a', transport: 'stdio' }, true)), ['command'])
  assert.deepEqual(problemsOf({ ...emptyForm, name: 'a', url: null }, true), {})
})

test('a refusal stands beside the field that it speaks of', () => {
  assert.deepEqual(problemIn('body/url must be a URL'), { url: 'body/url must be a URL' })
  assert.equal(problemIn('body/headers must be an object'), undefined)
  assert.equal(problemIn('the upstream did not answer'), undefined)
})

test('durations lie on a log scale, and what is beyond it at its edge', () => {
  const [bottom, top] = [latencyY(0.1, 120), latencyY(1_000_000, 120)]
  assert.deepEqual([bottom, top], [112, 16])
  assert.equal(latencyY(100, 120), (bottom + top) / 2)
})

test('charts draw nothing for buckets without calls, and failures wherever there are any', () => {
  const empty = { calls: 0, failed: 0 }
  assert.deepEqual(latencyPaths([empty, empty], 120), { range: '', median: '', failed: '' })
  assert.deepEqual(volumePaths([empty], 120), { ok: '', bad: '' })
  const { ok, bad } = volumePaths([{ calls: 1_000, failed: 1 }], 120)
  assert.match(bad, /v2h/)
  assert.match(ok, /v118h/)
  assert.match(latencyPaths([{ calls: 1, failed: 1 }], 120).failed, /^M/)
})

test('the facts of an interface name what it declares, whatever the shape of the declaration', () => {
  const csp = {
    connectDomains: ['https://a.test', 'wss://b.test'],
    resourceDomains: [],
    frameDomains: 'https://c.test'
  }
  assert.deepEqual(appFacts({ csp, permissions: { camera: {}, microphone: {} }, domain: 'd.test' }), [
    ['Connects to', 'https://a.test, wss://b.test'],
    ['Frames', '"https://c.test"'],
    ['Permissions', 'camera, microphone'],
    ['Domain', 'd.test']
  ])
  const none = [
    ['Outside connections', 'none declared'],
    ['Permissions', 'none declared']
  ]
  for (const app of [{}, { csp: null, permissions: [], domain: 7 }, { csp: 'x', permissions: 'y' }]) {
    assert.deepEqual(appFacts(app), none)
  }
  assert.deepEqual(appOf({ _meta: { ui: { domain: 'd' } } }), { domain: 'd' })
  for (const contents of [{}, { _meta: null }, { _meta: { ui: [] } }]) assert.equal(appOf(contents), undefined)
})
