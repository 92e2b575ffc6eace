import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join, relative } from 'node:path'
import { test, type TestContext } from 'node:test'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { shareSetup } from '../shared-setup.ts'
import { addCleanup } from '../store.ts'
import { commandLine, type CommandLine } from './cli.ts'
import { skip, startEnterprise, userRecord } from './enterprise.ts'
import { startGateway } from './harness.ts'

/** Returns every file of a folder with its text. */
async function tree(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(files.map(async (file) => [relative(folder, file), await readFile(file, 'utf8')]))
  return Object.fromEntries(texts.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))) as Record<string, string>
}

async function exportTo(cli: CommandLine, name: string) {
  const folder = join(cli.home, name)
  const { code, err } = await cli(['export', '-d', folder])
  assert.equal(code, 0, err)
  return { folder, files: await tree(folder) }
}

async function write(folder: string, files: Record<string, unknown>): Promise<string> {
  for (const [path, value] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), typeof value === 'string' ? value : JSON.stringify(value))
  }
  return folder
}

async function upstream(t: TestContext): Promise<string> {
  const recorder = await startRecorder(null)
  addCleanup(t, recorder.close)
  return recorder.url
}

const changesOf = (ended: { json: { changes: { action: string; kind: string; name: string; outcome: string }[] } }) =>
  ended.json.changes.map(({ action, kind, name, outcome }) => `${outcome} ${action} ${kind} ${name}`)

const secrets = {
  SERVER_A_B_BEARER_TOKEN: 'secret-1',
  SERVER_A_B_HEADERS_X_KEY: 'secret-2',
  SERVER_A_B_DESCRIPTION: 'says ${HOME}',
  SERVER_A_B_BEARER_TOKEN_2: 'secret-3',
  GROUP_G_DESCRIPTION: 'of ${HOME}'
}

/** A development-mode gateway with two servers, a group and disabled items, and an export of it. */
const setUp = shareSetup(async (t) => {
  const gateway = await startGateway(t)
  const url = await upstream(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url, ...secrets })
  const server = { transport: 'streamable_http', url }
  const state = async () => {
    const paths = ['server_configs', 'tool-groups', 'servers/a-b/switches', 'servers/a_b/switches']
    return Promise.all(paths.map(async (path) => (await gateway.get(`/api/v0/${path}`)).body))
  }
  await gateway.register({ ...server, name: 'a-b', bearer_token: 'secret-1', headers: { 'X-Key': 'secret-2' } })
  await gateway.register({ ...server, name: 'a_b', bearer_token: 'secret-3', description: 'says ${HOME}', args: [] })
  await gateway.post('/api/v0/tool-groups', {
    name: 'g',
    description: 'of ${HOME}',
    included_servers: ['a-b'],
    excluded_tools: ['a-b__fail']
  })
  for (const path of ['tools/disable?entity=a-b__fail', 'prompts/disable?entity=a-b', 'resources/disable?entity=a_b'])
    assert.equal((await gateway.post(`/api/v0/${path}`)).status, 200)
  await gateway.post('/api/v0/servers/a_b/disable')
  const before = await state()
  return { gateway, url, cli, server, state, before, first: await exportTo(cli, 'first') }
})

/** Returns the shared gateway in the state of its export, whatever earlier tests have changed. */
async function restored() {
  const shared = await setUp()
  const { code, err } = await shared.cli(['apply', '-f', shared.first.folder, '--prune', '--yes'])
  assert.equal(code, 0, err)
  assert.deepEqual(await shared.state(), shared.before)
  return shared
}

test('an export is readable only by its owner, and contains references instead of secrets', async () => {
  const { cli, first } = await setUp()
  assert.deepEqual(Object.keys(first.files), [
    'groups/g.json',
    'secrets.env.example',
    'servers/a-b.json',
    'servers/a_b.json'
  ])
  for (const path of Object.keys(first.files)) {
    assert.equal((await stat(join(first.folder, path))).mode & 0o777, 0o600)
    assert.equal((await stat(dirname(join(first.folder, path)))).mode & 0o777, 0o700)
    assert.doesNotMatch(first.files[path]!, /secret-\d|HOME/)
  }
  const names = first.files['secrets.env.example']!.split('=\n').slice(0, -1)
  assert.deepEqual(names.toSorted(), Object.keys(secrets).toSorted())
  const { enabled, disabled_tools, disabled_resources } = JSON.parse(first.files['servers/a-b.json']!)
  assert.deepEqual([enabled, disabled_tools, disabled_resources], [true, ['fail'], undefined])
  assert.equal(JSON.parse(first.files['servers/a_b.json']!).enabled, false)
  assert.equal((await cli(['export', '-d', first.folder])).code, 2)
  const whole = join(cli.home, 'whole')
  assert.equal((await cli(['export', '-d', whole, '--with-secrets'])).code, 0)
  assert.match(await readFile(join(whole, 'servers/a-b.json'), 'utf8'), /secret-1/)
})

test('applying unchanged files changes nothing', async () => {
  const { cli, first } = await restored()
  const again = await cli(['apply', '-f', first.folder, '--prune'])
  assert.deepEqual([again.code, again.out], [0, ''])
  assert.equal(again.err, 'no changes: all 3 match the files\n')
})

test('a preview needs no secrets: values whose variables are not set count as unchanged', async () => {
  const { cli, first } = await restored()
  const env = Object.fromEntries(Object.keys(secrets).map((name) => [name, undefined]))
  const preview = await cli(['apply', '-f', first.folder, '--dry-run', '--json'], { env })
  assert.deepEqual([preview.code, changesOf(preview)], [0, []], preview.err)
  const applied = await cli(['apply', '-f', first.folder], { env })
  assert.equal(applied.code, 2)
  assert.match(applied.err, /not set/)
})

test('an export applied to an empty gateway restores the same state, and exports the same bytes', async () => {
  const { gateway, cli, state, before, first } = await restored()
  for (const args of [
    ['delete', 'group', 'g'],
    ['rm', 'a-b'],
    ['rm', 'a_b']
  ])
    assert.equal((await cli(args)).code, 0)
  const planned = await cli(['apply', '-f', first.folder, '--dry-run', '--json'])
  const steps = ['create server a-b', 'create server a_b', 'create group g']
  assert.deepEqual(
    changesOf(planned),
    steps.map((step) => `planned ${step}`)
  )
  assert.equal(planned.json.dry_run, true)
  assert.doesNotMatch(planned.out, /secret-\d/)
  assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])

  const applied = await cli(['apply', '-f', first.folder])
  assert.equal(applied.code, 0, applied.err)
  assert.equal(applied.out, '+ server a-b\n+ server a_b\n+ group g\n')
  assert.match(applied.err, /created server "a-b"\n.*3 created, 0 updated, 0 deleted, 0 unchanged\n$/s)
  assert.deepEqual(await state(), before)
  assert.deepEqual((await exportTo(cli, 'second')).files, first.files)
  assert.equal((await cli(['apply', '-f', first.folder, '-q'])).out, '')
})

test('only differences are applied, and they are reported without secrets', async () => {
  const { gateway, url, cli, server, first } = await restored()
  const folder = await write(join(cli.home, 'changed'), {
    'servers/a-b.json': { ...server, name: 'a-b', bearer_token: 'secret-9', enabled: true, disabled_tools: ['echo'] },
    'servers/new.yaml': `name: new\ntransport: streamable_http\nurl: ${url}\n`,
    'g.json': [{ name: 'g', included_servers: ['new'] }]
  })
  const applied = await cli(['apply', '-f', folder, '--json'])
  assert.equal(applied.code, 0, applied.err)
  assert.deepEqual(changesOf(applied), ['done update server a-b', 'done create server new', 'done update group g'])
  const [change] = applied.json.changes
  assert.deepEqual(change.changed, ['bearer_token', 'headers', 'disabled_tools', 'disabled_prompts'])
  assert.doesNotMatch(applied.out, /secret-\d/)
  assert.deepEqual(change.before.disabled_tools, ['fail'])
  assert.deepEqual(change.after.disabled_tools, ['echo'])
  const { tools, prompts } = (await gateway.get('/api/v0/servers/a-b/switches')).body
  assert.deepEqual([tools.echo, tools.fail, prompts.greet], [false, true, true])
  assert.deepEqual((await gateway.get('/api/v0/tool-groups/g')).body.included_servers, ['new'])

  const shown = await cli(['apply', '-f', first.folder, '--dry-run'])
  assert.match(shown.out, /^~ server a-b\n {4}bearer_token: "\*\*\*" -> "\*\*\*"\n/)
  assert.match(shown.out, /\n {4}disabled_tools: \["echo"\] -> \["fail"\]\n/)
  assert.deepEqual((await cli(['apply', '-f', first.folder, '--dry-run', '-o', 'name'])).out.split('\n'), [
    'server/a-b',
    'group/g',
    ''
  ])
})

test('a file without switches, as MCPJungle writes it, leaves the switches unchanged', async () => {
  const { gateway, cli, server } = await restored()
  const folder = await write(join(cli.home, 'mcpjungle'), {
    'servers/new.json': { ...server, name: 'new', description: 'd', bearer_token: '', args: null, command: '' },
    'groups/h.json': { name: 'h', description: '', included_tools: ['new__echo'], included_servers: null }
  })
  await gateway.register({ ...server, name: 'new' })
  await gateway.post('/api/v0/tools/disable?entity=new__fail')
  assert.equal((await cli(['apply', '-f', folder])).code, 0)
  assert.equal((await gateway.get('/api/v0/tool?name=new__fail')).body.enabled, false)
  assert.equal((await gateway.get('/api/v0/servers/new')).body.description, 'd')
  assert.deepEqual((await gateway.get('/api/v0/tool-groups/h')).body.included_tools, ['new__echo'])
  assert.equal((await cli(['apply', '-f', folder])).out, '')
})

test('--prune deletes records that the files lack, only of kinds that they contain, and only with --yes', async () => {
  const { gateway, cli, server } = await restored()
  const folder = await write(join(cli.home, 'pruned'), { 'groups/g.json': { name: 'g', included_servers: ['new'] } })
  await gateway.register({ ...server, name: 'new' })
  assert.equal((await cli(['apply', '-f', folder])).code, 0)
  await gateway.post('/api/v0/tool-groups', { name: 'h', included_tools: ['new__echo'] })
  const refused = await cli(['apply', '-f', folder, '--prune'])
  assert.equal(refused.code, 2)
  assert.match(refused.err, /--prune would delete:\n {2}group "h"\nhint: pass --yes/)
  assert.equal((await gateway.get('/api/v0/tool-groups/h')).status, 200)
  assert.deepEqual(changesOf(await cli(['apply', '-f', folder, '--prune', '--dry-run', '--json'])), [
    'planned delete group h'
  ])
  const pruned = await cli(['apply', '-f', folder, '--prune', '--yes'])
  assert.deepEqual([pruned.code, pruned.out], [0, '- group h\n'])
  assert.equal((await gateway.get('/api/v0/servers')).body.length, 3)
})

test('a failed change does not stop the others, and sets the exit code', async () => {
  const { cli, server } = await restored()
  const folder = await write(join(cli.home, 'failing'), {
    'servers/bad.json': { name: 'bad', transport: 'streamable_http', url: 'http://127.0.0.1:1/mcp' },
    'servers/good.json': { ...server, name: 'good' },
    'groups/lost.json': { name: 'lost', included_servers: ['nowhere'] }
  })
  const failed = await cli(['apply', '-f', folder, '--json'])
  assert.equal(failed.code, 1)
  assert.deepEqual(changesOf(failed), [
    'failed create server bad',
    'done create server good',
    'failed create group lost'
  ])
  assert.match(failed.json.changes[2].error, /nowhere/)
  assert.match(failed.err, /warning: server "bad": /)
  await rm(join(folder, 'servers/bad.json'))
  assert.equal((await cli(['apply', '-f', folder])).code, 2)
})

test('invalid files are refused before anything is sent, with all unset variables at once', async () => {
  const { gateway, cli, server } = await restored()
  const cases: [files: Record<string, unknown>, message: RegExp][] = [
    [
      {
        'servers/x.json': { ...server, name: 'x', bearer_token: '${NOT_SET_1}' },
        'groups/x.json': { name: 'x', description: '${NOT_SET_2}' }
      },
      /2 files use variables that are not set:\n {2}NOT_SET_2 at \$\.description of .*\n {2}NOT_SET_1 at \$\.bearer_token of /
    ],
    [
      { 'servers/x.json': [{ ...server, name: 'x' }], 'servers/y.json': { ...server, name: 'x' } },
      /"x" is defined in .* and in /
    ],
    [{ 'servers/x.json': { ...server } }, /has no "name"/],
    [{ 'x.json': { name: 'x' } }, /could be of several types\nhint: put it into a folder/],
    [{ 'servers/x.json': { ...server, name: 'x', what: 1 } }, /x\.json: .*what/],
    [{ 'servers/x.json': { ...server, name: 'x', enabled: 'no' } }, /"enabled" must be true or false/],
    [{ 'other/x.json': {} }, /contains no \.json or \.yaml file/],
    [{ 'servers/x.json': '{' }, /not valid JSON/]
  ]
  const existing = (await gateway.get('/api/v0/servers')).body
  for (const [index, [files, message]] of cases.entries()) {
    const folder = await write(join(cli.home, `wrong-${index}`), files)
    const refused = await cli(['apply', '-f', folder])
    assert.deepEqual([refused.code, refused.out], [2, ''], String(message))
    assert.match(refused.err, message)
  }
  assert.deepEqual((await gateway.get('/api/v0/servers')).body, existing)
})

test('a single file of an export can be validated and registered', async () => {
  const { gateway, cli, server, state, before, first } = await restored()
  const file = join(first.folder, 'servers/a_b.json')
  assert.equal((await cli(['validate', file])).code, 0)
  const { json, code, err } = await cli(['register', '-c', file, '--force', '--json'])
  assert.equal(code, 0, err)
  assert.equal(json.enabled, false)
  assert.deepEqual((await state())[3], before[3])
  const text = JSON.stringify({ ...server, name: 'a_b', enabled: true, disabled_tools: ['echo', 'gone'] })
  const updated = await cli(['update', 'server', '-c', '-', '--json'], { input: text })
  assert.equal(updated.json.enabled, true)
  assert.match(updated.err, /does not currently offer: tool gone/)
  assert.equal((await gateway.get('/api/v0/tool?name=a_b__echo')).body.enabled, false)
})

test('servers of another client’s configuration are imported one by one', async () => {
  const { gateway, url, cli, server } = await restored()
  await gateway.register({ ...server, name: 'good' })
  const file = join(cli.home, 'mcp.json')
  await writeFile(
    file,
    `{ // of some client
        "mcpServers": {
          "my notes": { "url": "${url}", "headers": { "Authorization": "Bearer \${env:NOTES_TOKEN}", "X-A": "\${input:a}" }, "disabled": true },
          "good": { "url": "${url}" },
          "loop": { "url": "${gateway.url}/mcp" },
          "down": { "url": "http://127.0.0.1:1/mcp?key=secret-4" },
        },
        "inputs": [{ "id": "a", "default": "of the file" }],
      }`
  )
  const row = (ended: { json: { name: string }[] }, name: string) => ended.json.find((each) => each.name === name)
  const dry = await cli(['import', file, '--dry-run', '--json'])
  assert.equal(dry.code, 0, dry.err)
  assert.deepEqual(row(dry, 'my-notes'), {
    name: 'my-notes',
    outcome: 'new',
    transport: 'streamable_http',
    target: url,
    problems: [],
    notes: ['renamed to fit the naming rule'],
    ignored: ['disabled'],
    variables: ['NOTES_TOKEN', 'A']
  })
  assert.doesNotMatch(dry.out, /secret-4/)
  const outcomes = (ended: { json: { name: string; outcome: string }[] }) =>
    ended.json.map(({ name, outcome }) => `${name} ${outcome}`)
  assert.deepEqual(outcomes(dry), ['my-notes new', 'good exists', 'loop refused', 'down new'])

  const unset = await cli(['import', file])
  assert.deepEqual([unset.code, unset.out], [2, ''])
  assert.match(unset.err, /NOTES_TOKEN at \$\.bearer_token of "my-notes"\nhint: export NOTES_TOKEN=…/)

  const env = { NOTES_TOKEN: 'secret-5' }
  const added = await cli(['import', file, '--json'], { env })
  assert.equal(added.code, 1)
  assert.deepEqual(outcomes(added), ['my-notes added', 'good exists', 'loop refused', 'down failed'])
  assert.match(added.err, /server "good": already exists\nhint: replace it with --force/)
  assert.match(added.err, /server "loop": skipped: this entry is this gateway/)
  const configs = (await gateway.get('/api/v0/server_configs')).body as { name: string }[]
  const { bearer_token, headers } = configs.find(({ name }) => name === 'my-notes') as Record<string, unknown>
  assert.deepEqual([bearer_token, headers], ['secret-5', { 'X-A': 'of the file' }])

  assert.equal((await cli(['import', file, 'good'])).code, 5)
  assert.deepEqual(outcomes(await cli(['import', file, 'good', '--force', '--json'])), ['good replaced'])
  assert.equal((await cli(['import', file, 'unknown'])).code, 2)
  const piped = await cli(['import', '-', '-o', 'name'], { input: `{"piped": {"url": "${url}"}}` })
  assert.deepEqual([piped.code, piped.out], [0, 'piped\n'])
  assert.match((await cli(['import', '-'], { input: '{"x": 1}' })).err, /stdin: unknown format/)

  await write(cli.home, { '.codex/config.toml': `[mcp_servers.toml]\nurl = "${url}"\n` })
  const ofClient = await cli(['import', '--client', 'codex', '-o', 'name'])
  assert.deepEqual([ofClient.code, ofClient.out], [0, 'toml\n'])
  assert.equal((await cli(['import', '--client', 'zed'])).code, 3)
  assert.match((await cli(['import', '--client', 'codec'])).err, /did you mean "codex"\?/)
  assert.match((await cli(['import'])).err, /import needs a file, or --client CLIENT/)
})

test('connect prints how a client reaches the gateway, and writes the client’s file after a backup', async () => {
  const { gateway, cli } = await restored()
  const printed = await cli(['connect', 'claude-code'])
  assert.equal(printed.out, `claude mcp add --transport http towpath ${gateway.url}/mcp\n`)
  const asJson = await cli(['connect', 'cursor', '--group', 'g', '--json'])
  assert.equal(asJson.json.endpoint, `${gateway.url}/v0/groups/g/mcp`)
  assert.deepEqual(
    asJson.json.snippets.map(({ language }: { language: string }) => language),
    ['url', 'json']
  )
  assert.equal((await cli(['connect', 'cursor', '--group', 'gg'])).code, 3)
  assert.match((await cli(['connect', 'curser'])).err, /did you mean "cursor"\?/)
  assert.equal((await cli(['connect', 'curl', '--write'])).code, 2)

  const path = join(cli.home, '.cursor/mcp.json')
  const created = await cli(['connect', 'cursor', '--write'])
  assert.equal(created.code, 0, created.err)
  assert.match(created.out, /^\+ \{\n/)
  const own = `{\n  // mine\n  "mcpServers": { "a": { "command": "a" } }\n}\n`
  await writeFile(path, own)
  const written = await cli(['connect', 'cursor', '--write', '--name', 'tools', '--json'])
  const { backup, ...rest } = written.json
  assert.deepEqual(rest, { client: 'cursor', endpoint: `${gateway.url}/mcp`, file: path, changed: true })
  assert.match(backup, /mcp\.json\.\d{4}-\d\d-\d\dT[\d-]+Z\.bak$/)
  assert.equal(await readFile(backup, 'utf8'), own)
  assert.match(await readFile(path, 'utf8'), /\/\/ mine[^]*"tools": \{\s+"url"/)
  const again = await cli(['connect', 'cursor', '--write', '--name', 'tools'])
  assert.deepEqual([again.code, again.out, again.err], [0, '', `${path} is already up to date\n`])

  const project = await cli(['connect', 'vscode', '--write', '-o', 'name'])
  assert.equal(project.out, `${join(cli.home, '.vscode/mcp.json')}\n`)
  await writeFile(path, '{ broken')
  assert.equal((await cli(['connect', 'cursor', '--write'])).code, 2)
  assert.equal(await readFile(path, 'utf8'), '{ broken')
})

test('enable and disable without a kind mean tools, as in MCPJungle', async () => {
  const { gateway, cli, server } = await restored()
  await gateway.register({ ...server, name: 'good' })
  const disabled = await cli(['disable', 'good__echo', '--json'])
  assert.deepEqual([disabled.code, disabled.json], [0, ['good__echo']])
  assert.match(disabled.err, /interpreted as: towpath disable tool good__echo/)
  assert.equal((await cli(['enable', 'good', '--json'])).json.length, 4)
  for (const args of [['enable'], ['enable', 'toll', 'good__echo']]) assert.equal((await cli(args)).code, 2)
})

test('clients and users are exported and applied too, tokens by reference, in enterprise mode', { skip }, async (t) => {
  const { url, tokens, admin, as } = await startEnterprise(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: url, TOWPATH_TOKEN: tokens.admin })
  await admin.post('/api/v0/servers', { name: 'alpha', transport: 'streamable_http', url: await upstream(t) })
  await admin.post('/api/v0/tool-groups', { name: 'g', included_tools: ['alpha__echo'] })
  await admin.post('/api/v0/tools/disable?entity=alpha__fail')
  const own = {
    CLIENT_CLI_A_TOKEN: tokens.cliA,
    CLIENT_CLI_ALL_TOKEN: tokens.cliAll,
    CLIENT_CLI_B_TOKEN: tokens.cliB,
    CLIENT_CLI_NONE_TOKEN: tokens.cliNone,
    USER_USER_TOKEN: tokens.user
  }
  const { folder, files } = await exportTo(cli, 'first')

  await t.test('an export names variables for tokens, and what it says is what is there', async () => {
    assert.deepEqual(JSON.parse(files['clients/cli-a.json']!), {
      name: 'cli-a',
      allowed_servers: ['alpha'],
      access_token_ref: { env: 'CLIENT_CLI_A_TOKEN' }
    })
    assert.equal(JSON.parse(files['users/admin.json']!).role, 'admin')
    for (const text of Object.values(files)) assert.doesNotMatch(text, /twp_/)
    for (const env of [{}, own]) {
      const same = await cli(['apply', '-f', folder, '--prune'], { env })
      assert.deepEqual([same.code, same.out], [0, ''], same.err)
    }
  })

  await t.test(
    'an empty gateway gets the same principals with the same tokens, and exports the same bytes',
    async () => {
      const kinds = [
        ['group', 'g'],
        ['server', 'alpha'],
        ['user', 'user'],
        ...['cli-a', 'cli-b', 'cli-all', 'cli-none'].map((name) => ['client', name])
      ]
      for (const [kind = '', name = ''] of kinds) assert.equal((await cli(['delete', kind, name])).code, 0)
      const unset = await cli(['apply', '-f', folder])
      assert.equal(unset.code, 2)
      assert.match(unset.err, /USER_USER_TOKEN/)
      assert.deepEqual((await admin.get('/api/v0/servers')).body, [])

      const applied = await cli(['apply', '-f', folder], { env: own })
      assert.equal(applied.code, 0, applied.err)
      for (const token of Object.values(tokens)) assert.equal((applied.out + applied.err).includes(token), false)
      assert.deepEqual((await exportTo(cli, 'second')).files, files)
      assert.deepEqual((await as(tokens.user).get('/api/v0/users/whoami')).body, userRecord('user'))
      await as(tokens.cliA).initialize()
      assert.equal((await cli(['apply', '-f', folder, '-q'], { env: own })).out, '')
    }
  )

  await t.test('a token that differs is replaced, a list, a role and a suspension that differ too', async () => {
    const env = { ...own, USER_USER_TOKEN: 'a-new-token-of-user', CLIENT_CLI_A_TOKEN: 'a-new-token-of-cli-a' }
    const jwks_uri = 'https://keys.example/set'
    const declared = { name: 'cli-b', description: 'd', access_token_ref: { env: 'CLIENT_CLI_B_TOKEN' } }
    await write(folder, { 'clients/cli-b.json': { ...declared, jwks_uri } })
    const applied = await cli(['apply', '-f', folder, '--json'], { env })
    assert.equal(applied.code, 0, applied.err)
    assert.deepEqual(changesOf(applied), [
      'done update user user',
      'done update mcp-client cli-a',
      'done update mcp-client cli-b'
    ])
    assert.deepEqual(applied.json.changes[1].changed, ['access_token'])
    assert.deepEqual(applied.json.changes[2].changed.toSorted(), ['allowed_servers', 'description', 'jwks_uri'])
    assert.equal((await admin.get('/api/v0/clients/cli-b')).body.jwks_uri, jwks_uri)
    await write(folder, { 'clients/cli-b.json': declared })
    assert.deepEqual((await cli(['apply', '-f', folder, '--json'], { env })).json.changes[0].changed, ['jwks_uri'])
    assert.equal((await admin.get('/api/v0/clients/cli-b')).body.jwks_uri, undefined)
    assert.equal((await as(tokens.user).get('/api/v0/servers')).status, 401)
    assert.equal((await as('a-new-token-of-user').get('/api/v0/servers')).status, 200)
    await as('a-new-token-of-cli-a').initialize()
    await as(tokens.cliB).initialize()
    assert.deepEqual((await admin.get('/api/v0/clients/cli-b')).body.allowed_servers, [])
    assert.equal((await cli(['apply', '-f', folder, '-q'], { env })).out, '')

    await write(join(cli.home, 'role'), { 'users/user.json': { name: 'user', role: 'admin' } })
    const raised = await cli(['apply', '-f', join(cli.home, 'role'), '--json'])
    assert.deepEqual(
      [changesOf(raised), raised.json.changes[0].changed],
      [['done update user user'], ['role']],
      raised.err
    )
    assert.equal((await as('a-new-token-of-user').get('/api/v0/users')).status, 200)
    await write(join(cli.home, 'state'), { 'users/user.json': { name: 'user', role: 'user', suspended: true } })
    assert.equal((await cli(['apply', '-f', join(cli.home, 'state')])).code, 0)
    assert.equal((await as('a-new-token-of-user').get('/api/v0/me')).status, 401)
    assert.equal((await cli(['apply', '-f', join(cli.home, 'state'), '-q'])).out, '')
    const exported = join(cli.home, 'suspended')
    assert.equal((await cli(['export', '-d', exported])).code, 0)
    assert.equal(JSON.parse(await readFile(join(exported, 'users/user.json'), 'utf8')).suspended, true)
    await write(join(cli.home, 'state'), { 'users/user.json': { name: 'user', suspended: false } })
    assert.equal((await cli(['apply', '-f', join(cli.home, 'state')])).code, 0)
    assert.equal((await as('a-new-token-of-user').get('/api/v0/me')).status, 200)
  })

  await t.test('--prune deletes clients and users, but not who asks; a user may not apply', async () => {
    const only = await write(join(cli.home, 'only'), {
      'clients/cli-a.json': { name: 'cli-a', allowed_servers: ['alpha'] },
      'users/second.json': { name: 'second', access_token: 'a-token-of-second' }
    })
    const pruned = await cli(['apply', '-f', only, '--prune', '--yes'])
    assert.equal(pruned.code, 0, pruned.err)
    assert.match(pruned.err, /user "admin" is not in the files, but you are signed in as this user: not deleted/)
    assert.deepEqual(
      (await admin.get('/api/v0/users')).body.map(({ name }: { name: string }) => name),
      ['admin', 'second']
    )
    assert.equal((await admin.get('/api/v0/clients')).body.length, 1)
    assert.equal((await admin.get('/api/v0/servers')).body.length, 1)
    const refused = await cli(['apply', '-f', only], { env: { TOWPATH_TOKEN: 'a-token-of-second' } })
    assert.equal(refused.code, 4)
  })

  await t.test(
    'a client gets a reference to its token, and one that cannot read it the token in a file of its own',
    async () => {
      const printed = await cli(['connect', 'codex'])
      assert.match(printed.out, /--bearer-token-env-var TOWPATH_CLIENT_TOKEN\n$/)
      assert.equal((await cli(['connect', 'claude-desktop', '--write'])).code, 2)
      const { code, err, out, json } = await cli(['connect', 'claude-desktop', '--write', '--token-stdin', '--json'], {
        input: `${tokens.cliAll}\n`
      })
      assert.equal(code, 0, err)
      assert.equal((await stat(json.file)).mode & 0o777, 0o600)
      const { env, args } = JSON.parse(await readFile(json.file, 'utf8')).mcpServers.towpath
      assert.deepEqual(env, { TOWPATH_TOKEN: tokens.cliAll })
      assert.deepEqual(args.slice(1), ['stdio', '--registry', url])
      const other = await cli(['connect', 'claude-desktop', '--write'], { env: { TOWPATH_CLIENT_TOKEN: tokens.cliA } })
      for (const text of [out, err, other.out, other.err]) assert.doesNotMatch(text, /twp_/)
      assert.match(other.out, /\+ +"TOWPATH_TOKEN": "\*\*\*"/)
      assert.equal((await cli(['connect', 'cursor', '--write', '--token-stdin'], { input: 'x' })).code, 2)
    }
  )
})

test('a gateway that is not honest gets no file written outside of the folder', async (t) => {
  const server = { name: '../../outside', transport: 'stdio', command: 'x' }
  const gateway = createServer(({ url = '' }, response) => {
    const body = url.endsWith('/server_configs') ? [server] : url.endsWith('/switches') ? { enabled: true } : []
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
  addCleanup(t, () => gateway.close())
  const { port } = gateway.address() as AddressInfo
  const cli = await commandLine(t, { TOWPATH_REGISTRY: `http://127.0.0.1:${port}` })
  const { code, err } = await cli(['export', '-d', join(cli.home, 'a', 'b')])
  assert.equal(code, 1)
  assert.match(err, /with an invalid name/)
  assert.deepEqual(await readdir(cli.home), [])
})
