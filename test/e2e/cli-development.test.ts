import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { VERSION } from '../../src/domain/version.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { commandLine } from './cli.ts'
import { startGateway } from './harness.ts'

async function start(t: TestContext) {
  const gateway = await startGateway(t, { args: ['--demo'] })
  const recorder = await startRecorder(null, { name: 'alpha' })
  addCleanup(t, recorder.close)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  return { gateway, recorder, cli }
}

test('a server is registered without its interfaces and with trusted annotations, which export and apply keep', async (t) => {
  const gateway = await startGateway(t)
  const recorder = await startRecorder(null)
  addCleanup(t, recorder.close)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const flags = ['--no-apps', '--trusted-annotations']
  const registered = await cli(['register', 'alpha', '--url', recorder.url, ...flags, '--json'])
  const chosen = ({ apps, trusted_annotations }: Record<string, unknown>) => [apps, trusted_annotations]
  assert.deepEqual([registered.code, ...chosen(registered.json)], [0, false, true], registered.err)
  const described = (await cli(['describe', 'server', 'alpha'])).out
  assert.match(described, /^apps: +off$/m)
  assert.match(described, /^annotations: +trusted by policies$/m)
  for (const flag of flags) assert.equal((await cli(['register', '-c', 'x.json', flag])).code, 2)
  const folder = join(cli.home, 'exported')
  assert.equal((await cli(['export', '-d', folder])).code, 0)
  const file = join(folder, 'servers/alpha.json')
  const config = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
  assert.deepEqual(chosen(config), [false, true])
  const { apps: _apps, trusted_annotations: _trusted, ...usual } = config
  const stored = async () => chosen((await cli(['get', 'server', 'alpha', '--json'])).json)
  for (const [wanted, expected] of [
    [usual, [undefined, undefined]],
    [config, [false, true]]
  ] as const) {
    await writeFile(file, JSON.stringify(wanted))
    const applied = await cli(['apply', '-f', folder, '--json'])
    assert.equal(applied.code, 0, applied.err)
    assert.deepEqual(await stored(), expected)
  }
})

test('a server is registered, read, switched, tested, replaced and removed, in development mode', async (t) => {
  const { gateway, recorder, cli } = await start(t)

  const registered = await cli(['register', 'alpha', '--url', recorder.url, '--description', 'first', '--json'])
  assert.equal(registered.code, 0, registered.err)
  const { body: record } = await gateway.get('/api/v0/servers/alpha')
  assert.deepEqual(registered.json, { ...(record as object), server: record })
  assert.match(registered.err, /registered server "alpha"/)

  const again = await cli(['register', 'alpha', '--url', recorder.url, '-o', 'json'])
  assert.equal(again.code, 5)
  assert.equal(again.out, '')
  const failure = JSON.parse(again.err)
  assert.deepEqual(Object.keys(failure), ['error', 'code', 'hint'])
  assert.match(failure.hint, /--force/)
  assert.equal((await cli(['add', 'alpha', '--url', recorder.url, '--force'])).code, 0)

  const listed = await cli(['list', 'servers'])
  assert.match(listed.out, /^NAME +STATUS +TOOLS +CALLS +P95 +TARGET\nalpha +connected +\d+ +0 +http/)
  assert.deepEqual((await cli(['list', 'server', '-o', 'name'])).out, 'alpha\ndemo\n')
  const asJson = await cli(['list', 'servers', '-o', 'json'])
  assert.deepEqual(asJson.json, (await gateway.get('/api/v0/servers?include=health')).body)
  assert.deepEqual(parse((await cli(['list', 'servers', '-o', 'yaml'])).out), asJson.json)
  assert.match((await cli(['ls', 'servers', '-o', 'wide'])).out, /SESSION MODE/)

  await gateway.post('/api/v0/tools/invoke', { name: 'alpha__fail' })
  await until('the failed call', async () =>
    /Newest failed calls\n/.test((await cli(['describe', 'server', 'alpha'])).out)
  )
  const described = await cli(['describe', 'server', 'alpha'])
  assert.match(described.out, /^name: +alpha\n(.*\n)*status: +connected\n(.*\n)*Tools \(\d+\)\nNAME +STATE/)
  assert.match(described.out, /Newest failed calls\n.*\n.* tool_error +fail/)
  assert.equal((await cli(['describe', 'server', 'alhpa'])).code, 3)

  const disabled = await cli(['disable', 'server', 'alpha', '--json'])
  assert.deepEqual(disabled.json.tools_affected.toSorted(), [
    'alpha__echo',
    'alpha__fail',
    'alpha__slow',
    'alpha__whoami'
  ])
  assert.equal((await cli(['enable', 'servers', 'alpha'])).code, 0)
  assert.deepEqual((await cli(['disable', 'tool', 'alpha__fail', '--json'])).json, ['alpha__fail'])
  assert.equal((await cli(['get', 'tool', 'alpha__fail', '--json'])).json.enabled, false)
  assert.deepEqual((await cli(['enable', 'tools', 'alpha', '-o', 'name'])).out.split('\n').length, 5)
  assert.deepEqual((await cli(['disable', 'prompt', 'alpha__greet', '--json'])).json, ['alpha__greet'])
  assert.equal((await cli(['enable', 'prompt', 'alpha'])).code, 0)
  const [resource] = (await cli(['list', 'resources', '--server', 'alpha', '--json'])).json
  assert.deepEqual((await cli(['disable', 'resource', resource.uri, '--json'])).json, [resource.uri])
  assert.equal((await cli(['enable', 'resource', resource.uri])).code, 0)

  assert.deepEqual((await cli(['refresh', 'alpha', '--json'])).json, {
    name: 'alpha',
    added: [],
    removed: [],
    changed: []
  })
  assert.match((await cli(['test', 'alpha'])).err, /server "alpha" answers \(\d+ ms\)/)

  const file = join(cli.home, 'alpha.json')
  await writeFile(
    file,
    JSON.stringify({ name: 'alpha', transport: 'streamable_http', url: recorder.url, session_mode: 'stateful' })
  )
  assert.equal((await cli(['update', 'server', '-c', file, '--json'])).json.session_mode, 'stateful')

  const wrong = await cli(['deregister', 'alhpa'])
  assert.equal(wrong.code, 3)
  assert.match(wrong.err, /^error: .*"alhpa".*\nhint: did you mean "alpha"\?\n$/)
  const removed = await cli(['deregister', 'alpha'])
  assert.deepEqual([removed.code, removed.out, removed.err], [0, '', 'deleted server "alpha"\n'])
  assert.equal((await cli(['rm', 'demo', '-q'])).err, '')
  const none = await cli(['list', 'servers'])
  assert.deepEqual([none.code, none.out, none.err], [0, '', 'no servers\n'])
})

test('tools are shown and called, prompts rendered and resources read, in development mode', async (t) => {
  const { gateway, recorder, cli } = await start(t)
  await gateway.register({ name: 'alpha', transport: 'streamable_http', url: recorder.url })

  const shown = await cli(['usage', 'demo__add'])
  assert.match(
    shown.out,
    /^demo__add\n\nAdds two numbers.*\n\nPARAMETER +TYPE +REQUIRED +DESCRIPTION\na +number +yes\nb +number +yes\n$/s
  )
  assert.equal((await cli(['usage', 'demo__add', '--json'])).json.name, 'demo__add')

  for (const args of [
    ['--input', '{"a": 1, "b": 2}'],
    ['--arg', 'a=1', '--arg', 'b=2'],
    ['--input', '{"a": 1}', '--arg', 'b=2']
  ])
    assert.deepEqual((await cli(['invoke', 'demo__add', ...args, '--json'])).json.structuredContent, { sum: 3 })
  const file = join(cli.home, 'input.json')
  await writeFile(file, '{"a": 20, "b": 3}')
  assert.deepEqual((await cli(['invoke', 'demo__add', '--input', `@${file}`, '--json'])).json.structuredContent, {
    sum: 23
  })
  const piped = await cli(['call', 'demo__add', '--input', '-'], { input: '{"a": 1, "b": 1}' })
  assert.deepEqual([piped.code, JSON.parse(piped.out)], [0, { sum: 2 }])

  const named = await cli(['invoke', 'alpha__echo', '--input', '{"name": "n", "x": [1]}'])
  assert.deepEqual(JSON.parse(named.out).arguments, { name: 'n', x: [1] })

  const failed = await cli(['invoke', 'alpha__fail'])
  assert.deepEqual([failed.code, failed.out, failed.err], [7, '"failed"\n', ''])
  assert.equal((await cli(['invoke', 'alpha__fail', '--json'])).json.isError, true)
  const slow = await cli(['invoke', 'alpha__slow', '--timeout', '200ms'])
  assert.deepEqual([slow.code, slow.err], [1, 'error: no response within --timeout\n'])
  assert.equal((await cli(['invoke', 'alpha__eco'])).code, 3)
  for (const args of [
    ['--input', '{'],
    ['--input', '[]'],
    ['--arg', 'novalue'],
    ['--timeout', 'soon']
  ])
    assert.equal((await cli(['invoke', 'demo__add', ...args])).code, 2, args.join(' '))

  for (const args of [
    ['render', 'alpha__greet', '--arg', 'who=all'],
    ['get', 'prompt', 'alpha__greet', '--arg', 'who=all']
  ])
    assert.equal((await cli(args)).out, 'user: Greet all\n')
  assert.deepEqual((await cli(['get', 'prompt', 'alpha__greet', '--json'])).json.arguments, [
    { name: 'who', required: true }
  ])
  const [{ uri }] = (await cli(['list', 'resources', '--server', 'alpha', '--json'])).json
  for (const args of [
    ['read', uri],
    ['get', 'resource', uri, '--read']
  ])
    assert.equal((await cli(args)).out, 'a note\n')
  assert.equal((await cli(['get', 'resource', uri, '--json'])).json.name, 'note')
  assert.equal((await cli(['read', `${uri}x`])).code, 3)

  const group = ['create', 'group', 'sums', '--include-server', 'demo', '--exclude-tool', 'demo__time_now', '--json']
  assert.deepEqual((await cli(group)).json.included_servers, ['demo'])
  assert.deepEqual((await cli(['list', 'tools', '--group', 'sums', '-o', 'name'])).out, 'demo__add\ndemo__word_count\n')
  assert.deepEqual((await cli(['list', 'tools', '--group', 'sums', '--server', 'alpha', '--json'])).json, [])
  assert.equal((await cli(['invoke', 'demo__add', '--group', 'sums', '--input', '{"a":1,"b":1}'])).code, 0)
  assert.equal((await cli(['invoke', 'demo__time_now', '--group', 'sums'])).code, 3)
  assert.equal((await cli(['update', 'group', 'sums', '--description', 'new'])).code, 0)
  const kept = (await cli(['get', 'group', 'sums', '--json'])).json
  assert.deepEqual([kept.description, kept.excluded_tools], ['new', ['demo__time_now']])
  await writeFile(file, '{"name": "sums", "included_tools": ["demo__add"]}')
  assert.equal((await cli(['update', 'group', '-c', file])).code, 0)
  assert.deepEqual((await cli(['get', 'group', 'sums', '--json'])).json.included_servers, [])
  assert.equal((await cli(['list', 'groups', '-o', 'name'])).out, 'sums\n')
  assert.equal((await cli(['delete', 'group', 'sums'])).code, 0)
  assert.equal((await cli(['delete', 'group', 'sums'])).code, 3)
})

test('what is not text is kept where --save says, under a name that the upstream has no say in', async (t) => {
  const { gateway, cli } = await start(t)
  const data = Buffer.from('not really a picture')
  const recorder = await startRecorder(null, {
    name: 'pictures',
    extraTools: [{ name: 'draw', inputSchema: { type: 'object' } }]
  })
  addCleanup(t, recorder.close)
  const blocks = {
    content: [{ type: 'image', mimeType: 'image/png', data: data.toString('base64'), name: '../../evil' }]
  }
  // the recorder echoes the arguments as text; an upstream with one tool answers with an image
  const { startUpstream, sendResult } = await import('./upstream.ts')
  const upstream = await startUpstream(t, 'draws', {
    onCall: (message, response) => void sendResult(response, message, blocks)
  })
  await gateway.register({ name: 'draws', transport: 'streamable_http', url: upstream.url })
  const folder = join(cli.home, 'pictures')
  const saved = await cli(['invoke', 'draws__echo', '--save', folder])
  const [file, ...others] = await readdir(folder)
  assert.deepEqual(others, [])
  assert.equal(saved.out, `${join(folder, file!)}\n`)
  assert.match(file!, /^[0-9a-f]{16}\.png$/)
  assert.deepEqual(await readFile(join(folder, file!)), data)
  const told = await cli(['invoke', 'draws__echo'])
  assert.deepEqual([told.out, told.err], ['', `image/png, ${data.length} bytes: use --save FOLDER to save it\n`])
})

test('registration files: one, an array, a folder, YAML and stdin; the environment’s values go in', async (t) => {
  const { recorder, gateway, cli } = await start(t)
  const server = (name: string) => ({ name, transport: 'streamable_http', url: recorder.url })
  const folder = join(cli.home, 'servers')
  await mkdir(folder)
  await writeFile(join(cli.home, 'many.json'), JSON.stringify([server('m1'), server('m2')]))
  await writeFile(join(folder, 'a.json'), JSON.stringify({ ...server('f1'), headers: { 'X-Key': 'k-${KEY}' } }))
  await writeFile(join(folder, 'b.yaml'), `name: f2\ntransport: streamable_http\nurl: ${recorder.url}\n`)
  await writeFile(join(folder, 'notes.txt'), 'not this')
  const many = await cli(['register', '-c', join(cli.home, 'many.json'), '--json'])
  assert.deepEqual(
    many.json.map(({ name }: { name: string }) => name),
    ['m1', 'm2']
  )

  const unset = await cli(['register', '-c', folder])
  assert.equal(unset.code, 2)
  assert.match(
    unset.err,
    /a\.json uses a variable that is not set:\n {2}KEY at \$\.headers\["X-Key"\]\nhint: export KEY=…/
  )
  assert.equal((await gateway.get('/api/v0/servers')).body.length, 3, 'nothing was sent')

  assert.equal((await cli(['register', '-c', folder], { env: { KEY: 'secret' } })).code, 0)
  assert.equal((await cli(['register', '--conf', '-'], { input: JSON.stringify(server('s1')) })).code, 0)
  const configs = (await gateway.get('/api/v0/server_configs')).body as { name: string; headers?: object }[]
  assert.deepEqual(configs.find(({ name }) => name === 'f1')!.headers, { 'X-Key': 'k-secret' })
  assert.deepEqual(configs.map(({ name }) => name).toSorted(), ['demo', 'f1', 'f2', 'm1', 'm2', 's1'])
})

test('a server is registered from what its documentation shows, and the command shows how it read that', async (t) => {
  const { recorder, gateway, cli } = await start(t)
  const configOf = async (wanted: string) =>
    (await gateway.get('/api/v0/server_configs')).body.find(({ name }: { name: string }) => name === wanted)
  const { command, args } = await configOf('demo')
  const text = `API_KEY=very-secret ${[command, ...args].map((word: string) => `'${word}'`).join(' ')}`

  const added = `claude mcp add --transport http own ${recorder.url} --header "X-Key: $KEY"`
  const unset = await cli(['register', added])
  assert.equal(unset.code, 2)
  assert.match(unset.err, /understood server "own": streamable_http .*X-Key: \$\{KEY\}/)
  assert.match(unset.err, /KEY at .*\nhint: export KEY=…/)
  assert.equal(await configOf('own'), undefined)
  assert.equal((await cli(['register', added], { env: { KEY: 'k' } })).code, 0)
  assert.deepEqual((await configOf('own')).headers, { 'X-Key': 'k' })

  const typed = await cli(['register', text])
  assert.equal(typed.code, 0, typed.err)
  assert.match(typed.err, /^warning: a secret on the command line .*\nhint: .*towpath register -`\n/)
  const piped = await cli(['register', '-', '--force', '--json'], { input: text })
  assert.equal(piped.code, 0, piped.err)
  assert.match(piped.err, /^understood server "[\w-]+": stdio API_KEY=\*\*\* /)
  for (const { err } of [typed, piped]) assert.ok(!err.includes('very-secret'))
  const { name } = piped.json
  assert.deepEqual([(await configOf(name)).command, (await configOf(name)).env], [command, { API_KEY: 'very-secret' }])

  const known = (await gateway.get('/api/v0/servers')).body.length
  for (const [refused, why] of [
    ['npx -y a | tee log', /a pipe.*without a shell/],
    ['a__b', /unknown format.*\nhint: towpath register NAME/],
    [gateway.url, /this entry is this gateway/]
  ] as const) {
    const { code, err } = await cli(['register', refused])
    assert.equal(code, 2, refused)
    assert.match(err, why)
  }
  const both = await cli(['register', 'npx -y a', '--env', 'A=b'])
  assert.deepEqual([both.code, /only --force/.test(both.err)], [2, true])
  const file = join(cli.home, 'mcp.json')
  await writeFile(file, JSON.stringify({ mcpServers: { x: { url: recorder.url, headers: { A: '${UNSET}' } } } }))
  const client = await cli(['register', '-c', file])
  assert.deepEqual([client.code, client.err.includes(`hint: towpath import ${file}`)], [2, true])
  assert.equal((await gateway.get('/api/v0/servers')).body.length, known, 'nothing was sent')
})

test('secrets come by stdin or the environment; on the command line they work with a warning', async (t) => {
  const { recorder, gateway, cli } = await start(t)
  const configOf = async (wanted: string) =>
    (await gateway.get('/api/v0/server_configs')).body.find(({ name }: { name: string }) => name === wanted)
  const quiet = await cli(['register', 'a', '--url', recorder.url, '--bearer-token-stdin'], { input: 'token-a\n' })
  assert.deepEqual([quiet.code, quiet.err], [0, 'registered server "a"\n'])
  assert.equal((await configOf('a')).bearer_token, 'token-a')
  const loud = await cli(['register', '--name', 'b', '--url', recorder.url, '--bearer-token', 'token-b'])
  assert.match(loud.err, /^warning: a secret on the command line .*\nhint: use --bearer-token-stdin\n/)
  assert.ok(!`${loud.out}${loud.err}`.includes('token-b'))
  assert.equal((await configOf('b')).bearer_token, 'token-b')
  const header = ['register', 'c', '--url', recorder.url, '--header', 'X-Key: ${KEY}']
  assert.equal((await cli(header)).code, 2)
  assert.equal((await cli(header, { env: { KEY: 'k' } })).code, 0)
  assert.deepEqual((await configOf('c')).headers, { 'X-Key': 'k' })

  const { command, args } = await configOf('demo')
  const stdio = await cli(['register', 'own', '--env', 'SECRET', '--env', 'A=b=c', '--', command, ...args], {
    env: { SECRET: 's' }
  })
  assert.equal(stdio.code, 0, stdio.err)
  const own = await configOf('own')
  assert.deepEqual([own.transport, own.command, own.args, own.env], ['stdio', command, args, { SECRET: 's', A: 'b=c' }])
})

test('the configuration file names the gateway; the flag and the environment go before it', async (t) => {
  const { gateway } = await start(t)
  const cli = await commandLine(t)
  const path = join(cli.home, '.towpath.conf')
  await writeFile(path, `# mine\nregistry_url: ${gateway.url}\nother: kept\n`, { mode: 0o600 })
  const status = await cli(['status', '--json'])
  assert.equal(status.code, 0, status.err)
  const { registry, version, ready, mode, initialized, servers, tools, users } = status.json
  assert.deepEqual(
    { registry, version, ready, mode, initialized, servers, tools, users },
    {
      registry: gateway.url,
      version: VERSION,
      ready: true,
      mode: 'development',
      initialized: true,
      servers: 1,
      tools: 3,
      users: undefined
    }
  )
  assert.equal((await cli(['status'], { env: { TOWPATH_REGISTRY: 'http://127.0.0.1:9' } })).code, 6)
  const flag = ['status', '-o', 'name', '--registry', gateway.url]
  assert.equal((await cli(flag, { env: { TOWPATH_REGISTRY: 'http://127.0.0.1:9' } })).out, `${gateway.url}\n`)

  for (const text of ['registry_url: [', 'access_token: 12345\n', 'just text\n']) {
    await writeFile(path, text)
    const refused = await cli(['status'])
    assert.equal(refused.code, 2, text)
    assert.ok(!refused.err.includes('12345'))
  }
  await writeFile(path, `access_token: ${'t'.repeat(20)}\nregistry_url: ${gateway.url}\n`)
  await chmod(path, 0o644)
  const open = await cli(['version', '-v', '--json'])
  assert.match(open.err, /^warning: .*is readable by other users\nhint: chmod 600 .*\nGET \/metadata 200 \d+ ms\n$/)
  assert.ok(!open.err.includes('tttt'))
  assert.deepEqual(open.json, { towpath: VERSION, gateway: VERSION })
})

test('a command line that is wrong says so with exit code 2, and what was probably meant', async (t) => {
  const cli = await commandLine(t, { TOWPATH_REGISTRY: 'http://127.0.0.1:9' })
  const wrong: readonly (readonly [string[], RegExp])[] = [
    [['lst'], /error: unknown command 'lst'\nhint: did you mean/],
    [['list', 'tols'], /error: unknown command 'tols'\nhint: did you mean tools\?/],
    [['invoke'], /error: missing required argument 'tool'/],
    [['list', 'tools', '--sever', 'x'], /hint: did you mean --server\?/],
    [['list', 'tools', '-o', 'xml'], /-o accepts table, wide, json, yaml, name/],
    [['register'], /the name of the server is missing/],
    [['register', 'x'], /either --url or a command/],
    [['register', 'x', '--url', 'http://x', '-c', 'f.json'], /everything else comes from the file/],
    [['register', '-c', 'missing.json'], /missing\.json: file not found/],
    [['status', '--registry', 'nonsense'], /must begin with http/]
  ]
  for (const [args, message] of wrong) {
    const { code, out, err } = await cli(args)
    assert.deepEqual([code, out], [2, ''], args.join(' '))
    assert.match(err, message)
  }
  const unreachable = await cli(['list', 'tools', '--json'])
  assert.equal(unreachable.code, 6)
  assert.equal(JSON.parse(unreachable.err).code, 'unreachable')
  assert.equal((await cli(['version', '-o', 'name'])).out, `${VERSION}\n`)
  assert.equal((await cli(['--version'])).out, `${VERSION}\n`)
  const help = await cli(['--help'])
  assert.match(help.out, /Basic commands:.*register.*Advanced commands:.*audit/s)
})

test('files are validated without a gateway', async (t) => {
  const cli = await commandLine(t, { TOWPATH_REGISTRY: 'http://127.0.0.1:9', TOKEN: 'x'.repeat(20) })
  const file = join(cli.home, 'file.json')
  const check = async (value: unknown, ...args: string[]) => {
    await writeFile(file, typeof value === 'string' ? value : JSON.stringify(value))
    return cli(['validate', file, '--json', ...args])
  }
  const server = { name: 'a', transport: 'streamable_http', url: 'http://x' }
  assert.deepEqual((await check(server)).json, [{ file, type: 'server', name: 'a' }])
  assert.equal((await check({ name: 'g', included_tools: [] })).json[0].type, 'group')
  const client = { name: 'c', allowed_servers: ['*'], access_token_ref: { env: 'TOKEN' } }
  assert.equal((await check(client)).json[0].type, 'mcp-client')
  assert.equal((await check({ name: 'u', access_token: 'y'.repeat(20) }, '--type', 'user')).code, 0)
  const wrong: readonly (readonly [unknown, RegExp, string?])[] = [
    [{ ...server, name: 'a__b' }, /must be 1 to 64 letters/],
    [{ ...server, typo: 1 }, /unknown member/],
    [{ ...server, url: 'ftp://x' }, /url/],
    [{ name: 'a', transport: 'stdio' }, /command/],
    [{ ...server, url: 'http://${NOT_SET}' }, /NOT_SET at \$\.url/],
    [{ name: 'x' }, /give --type|could be of several types/],
    [{ name: 'c', allowed_servers: [] }, /has no token/],
    [server, /--type must be/, 'nonsense'],
    ['{"name": "secret-value",', /is not valid JSON/]
  ]
  for (const [value, message, type] of wrong) {
    const { code, err } = await check(value, ...(type ? ['--type', type] : []))
    assert.equal(code, 2, err)
    assert.match(JSON.parse(err).error, message)
    assert.ok(!err.includes('secret-value'))
  }
})
