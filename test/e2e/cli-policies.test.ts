import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup, tempDir } from '../store.ts'
import { commandLine, type CommandLine } from './cli.ts'
import { skip, startEnterprise } from './enterprise.ts'

async function start(t: TestContext, env: Record<string, string> = {}) {
  const { url, tokens, admin, as } = await startEnterprise(t, { env })
  const cli = await commandLine(t, { TOWPATH_REGISTRY: url, TOWPATH_TOKEN: tokens.admin })
  const recorder = await startRecorder(null)
  addCleanup(t, recorder.close)
  const made = await admin.post('/api/v0/servers', { name: 'alpha', transport: 'streamable_http', url: recorder.url })
  assert.equal(made.status, 201)
  return { cli, admin, user: as(tokens.user) }
}

/** Writes files below the home of the command line; returns their folder. */
async function write({ home }: CommandLine, files: Record<string, unknown>, folder = 'gateway'): Promise<string> {
  for (const [path, value] of Object.entries(files)) {
    const target = join(home, folder, path)
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, typeof value === 'string' ? value : JSON.stringify(value))
  }
  return join(home, folder)
}

const changesOf = ({ json }: { json: { changes: { action: string; kind: string; name: string }[] } }) =>
  json.changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`)

const policies = `
- name: all-read
  effect: allow
  targets: { tools: [echo, whoami], annotations: {} }
- name: no-fail
  effect: deny
  targets: { tools: [fail] }
  reason: It always fails.
- name: writes
  effect: deny
  subjects: { oauth_clients: ["*"] }
  require_scopes: ["mcp:write"]
  enabled: false
`

test('policies and teams are validated, applied, exported and pruned as other files', { skip }, async (t) => {
  const { cli, admin } = await start(t)
  const folder = await write(cli, {
    'policies/all.yaml': policies,
    'teams/core.json': {
      name: 'core',
      groups: ['sre'],
      members: [{ user: 'user', role: 'manager' }, { user: 'admin' }]
    }
  })
  assert.equal((await cli(['validate', join(folder, 'policies/all.yaml')])).code, 0)
  assert.equal((await cli(['validate', join(folder, 'teams/core.json')])).code, 0)
  const planned = await cli(['apply', '-f', folder, '--dry-run', '--json'])
  assert.deepEqual(changesOf(planned), [
    'create team core',
    'create policy no-fail',
    'create policy writes',
    'create policy all-read'
  ])
  assert.deepEqual((await admin.get('/api/v0/policies')).body, [])
  assert.equal((await cli(['apply', '-f', folder])).code, 0)
  assert.equal((await cli(['apply', '-f', folder, '-q'])).out, '', 'a second run changes nothing')

  const exported = join(cli.home, 'exported')
  assert.equal((await cli(['export', '-d', exported])).code, 0)
  const read = async (path: string) => JSON.parse(await readFile(join(exported, path), 'utf8'))
  assert.deepEqual(await read('policies/writes.json'), {
    ...{ name: 'writes', effect: 'deny', mode: 'enforce', enabled: false },
    ...{ subjects: { oauth_clients: ['*'] }, targets: {}, require_scopes: ['mcp:write'] }
  })
  assert.deepEqual((await read('teams/core.json')).members, [
    { user: 'admin', role: 'member' },
    { user: 'user', role: 'manager' }
  ])
  for (const kind of ['policies', 'teams'])
    assert.equal((await cli(['apply', '-f', join(exported, kind), '-q'])).out, '', 'an export is what is there')

  const changed = (parse(policies) as { name: string; effect: string; mode?: string }[]).slice(0, 2)
  changed[1]!.mode = 'observe'
  await write(cli, { 'policies/all.yaml': changed })
  const shown = await cli(['apply', '-f', folder, '--dry-run'])
  assert.match(shown.out, /~ policy no-fail\n {4}mode: "enforce" -> "observe"/)
  const pruned = await cli(['apply', '-f', folder, '--prune', '--yes', '--json'])
  assert.deepEqual(changesOf(pruned), ['update policy no-fail', 'delete policy writes'])
  const { body } = await admin.get('/api/v0/policies')
  assert.deepEqual(
    (body as { name: string; mode: string }[]).map(({ name, mode }) => `${name} ${mode}`),
    ['no-fail observe', 'all-read enforce']
  )
})

test('files with policies that cannot be stored are refused before anything is sent', { skip }, async (t) => {
  const { cli, admin } = await start(t)
  const cases: [policy: object, reason: RegExp][] = [
    [{ effect: 'deny' }, /everyone: a rule without subjects and targets/],
    [{ effect: 'deny', everyone: true, when: 'args.a.matches("x")' }, /when: "matches" cannot be used.*at character/],
    [{ effect: 'deny', everyone: true, require_scopes: ['write'] }, /require_scopes: "write" is no scope/],
    [{ effect: 'maybe', everyone: true }, /"effect" must be one of/]
  ]
  for (const [policy, reason] of cases) {
    const folder = await write(cli, {
      'policies/p.json': { name: 'p', ...policy },
      'teams/t.json': { name: 't', groups: [] }
    })
    for (const command of [
      ['apply', '-f', folder],
      ['validate', join(folder, 'policies/p.json')]
    ]) {
      const { code, err } = await cli(command)
      assert.equal(code, 2, err)
      assert.match(err, reason)
    }
  }
  assert.deepEqual((await admin.get('/api/v0/teams')).body, [])
})

test('policies of the policy file are not exported, applied twice or pruned', { skip }, async (t) => {
  const file = join(await tempDir(t), 'policies.yaml')
  await writeFile(file, policies)
  const { cli, admin } = await start(t, { TOWPATH_POLICY_FILE: file })
  const same = await cli(['apply', '-f', await write(cli, { 'policies/all.yaml': policies }), '-q'])
  assert.deepEqual([same.code, same.out], [0, ''], 'the same file can be applied')
  const own = { name: 'own', effect: 'deny', targets: { tools: ['own'] } }
  const only = await write(cli, { 'policies/own.json': own }, 'only')
  const pruned = await cli(['apply', '-f', only, '--prune', '--yes', '--json'])
  assert.deepEqual([pruned.code, changesOf(pruned)], [0, ['create policy own']], pruned.err)
  assert.equal((await admin.get('/api/v0/policies')).body.length, 4)
  const exported = join(cli.home, 'exported')
  assert.equal((await cli(['export', '-d', exported])).code, 0)
  assert.deepEqual(await readdir(join(exported, 'policies')), ['own.json'])
  const changed = await cli(['policy', 'delete', 'no-fail'])
  assert.equal(changed.code, 5)
  assert.match(changed.err, /policy "no-fail" is in the policy file/)
})

test('a table of calls is checked against the decisions of the gateway', { skip }, async (t) => {
  const { cli } = await start(t)
  const folder = await write(cli, {
    'policies.yaml': policies,
    'cases.yaml': `
cases:
  - name: everybody may echo
    user: user
    item: alpha__echo
    args: { text: hi }
    expect: allow
  - client: cli-a
    item: alpha__fail
    expect: { decision: deny, policy: no-fail, hidden_by: policy }
  - groups: [sre]
    oauth_client: https://client.example/app
    scopes: [mcp]
    item: alpha__echo
    expect: allow
`
  })
  const [cases, file] = [join(folder, 'cases.yaml'), join(folder, 'policies.yaml')]
  const before = await cli(['policy', 'test', cases])
  assert.equal(before.code, 1)
  assert.equal(
    before.out,
    `✗ client cli-a: alpha__fail
    decision: expected deny, is allow
    policy: expected no-fail, is none
    hidden_by: expected policy, is none
    the call is allowed
    no policy matches
`
  )
  assert.match(before.err, /2 of 3 cases passed/)
  const after = await cli(['policy', 'test', cases, '-c', file, '--json'])
  assert.deepEqual([after.code, after.json.passed, after.json.failed], [0, 3, 0], after.out)
  const stricter = (parse(policies) as object[]).map((policy) => ({ ...policy, enabled: true }))
  const changed = await cli(['policy', 'test', cases, '-c', await write(cli, { 'p.json': stricter }, 'stricter')])
  assert.equal(changed.code, 1)
  assert.match(changed.out, /denied, because of writes\n.*all-read \(allow\); writes \(deny, lacks mcp:write\)/)
})

test('a table with mistakes is refused, and a case that cannot be decided has failed', { skip }, async (t) => {
  const { cli } = await start(t)
  const cases: [content: unknown, code: number, text: RegExp][] = [
    [[], 2, /contains no case/],
    [[{ user: 'user', expect: 'allow' }], 2, /"item" is missing/],
    [[{ user: 'user', item: 'alpha__echo', expect: 'yes' }], 2, /"expect" must be allow, deny/],
    [[{ user: 'user', item: 'alpha__echo', expect: 'allow', argument: {} }], 2, /"argument" is not known/],
    [[{ user: 'gone', item: 'alpha__echo', expect: 'allow' }], 1, /user "gone" does not exist/],
    [[{ item: 'alpha__echo', expect: 'allow' }], 1, /name a "user", a "client", or the "groups"/]
  ]
  for (const [content, code, text] of cases) {
    const folder = await write(cli, { 'cases.json': content })
    const ended = await cli(['policy', 'test', join(folder, 'cases.json')])
    assert.equal(ended.code, code, ended.err)
    assert.match(ended.out + ended.err, text)
  }
})

const asking = `
- name: ask
  effect: approve
  targets: { tools: [echo], annotations: { destructive: true } }
  when: args.text == "risky"
  approvers: { users: [user], groups: [sre] }
  hold_ms: 0
  valid_ms: 60000
  uses: 2
- name: sure
  effect: confirm
  targets: { tools: [whoami] }
  without_elicitation: deny
`

test(
  'policies that confirm and approve are applied, exported and tested with all their members',
  { skip },
  async (t) => {
    const { cli, admin } = await start(t)
    const folder = await write(cli, { 'policies/asking.yaml': asking })
    assert.equal((await cli(['apply', '-f', folder])).code, 0)
    assert.equal((await cli(['apply', '-f', folder, '-q'])).out, '', 'a second run changes nothing')
    const stored = (await admin.get('/api/v0/policies')).body as { name: string }[]
    const exported = join(cli.home, 'exported')
    assert.equal((await cli(['export', '-d', exported])).code, 0)
    for (const rule of parse(asking) as { name: string }[]) {
      const file = JSON.parse(await readFile(join(exported, `policies/${rule.name}.json`), 'utf8'))
      const found = stored.find(({ name }) => name === rule.name)
      for (const [key, value] of Object.entries(rule)) {
        assert.deepEqual([key, file[key], found![key as 'name']], [key, value, value])
      }
    }
    assert.equal((await cli(['apply', '-f', exported, '-q'])).out, '', 'an export is what is there')
    const cases = await write(
      cli,
      {
        'cases.json': [
          {
            client: 'cli-a',
            item: 'alpha__echo',
            args: { text: 'risky' },
            expect: { decision: 'approve', policy: 'ask' }
          },
          { client: 'cli-a', item: 'alpha__echo', args: { text: 'fine' }, expect: 'allow' },
          { client: 'cli-a', item: 'alpha__whoami', expect: 'confirm' },
          { client: 'cli-a', item: 'alpha__fail', expect: 'allow' }
        ]
      },
      'cases'
    )
    const tested = await cli(['policy', 'test', join(cases, 'cases.json'), '--json'])
    assert.deepEqual([tested.code, tested.json.passed, tested.json.failed], [0, 4, 0], tested.out)
    const edited = asking.replace('valid_ms: 60000', 'valid_ms: 90000')
    const changed = await cli(['apply', '-f', await write(cli, { 'policies/asking.yaml': edited })])
    assert.match(changed.out, /~ policy ask\n {4}valid_ms: 60000 -> 90000/)
    for (const [wrong, reason] of [
      [asking.replace('uses: 2', 'uses: 0'), /"uses" must be >= 1/],
      [asking.replace('hold_ms: 0', 'hold_ms: 240001'), /hold_ms/],
      [asking.replace('effect: confirm', 'effect: allow'), /without_elicitation: only a rule/]
    ] as const) {
      const { code, err } = await cli(['apply', '-f', await write(cli, { 'p.yaml': wrong }, 'wrong')])
      assert.equal(code, 2, err)
      assert.match(err, reason)
    }
  }
)
