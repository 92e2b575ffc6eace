import assert from 'node:assert/strict'
import test from 'node:test'
import { importServers, type ImportedServer } from '../../src/domain/import/formats.ts'
import { isServerName } from '../../src/domain/names.ts'

const all = (value: unknown, ownUrls: string[] = []): readonly ImportedServer[] => {
  const { servers, problem } = importServers(typeof value === 'string' ? value : JSON.stringify(value), { ownUrls })
  assert.equal(problem, undefined)
  for (const server of servers) {
    assert.ok(isServerName(server.name), server.name)
    assert.equal(server.registration.name, server.name)
  }
  return servers
}
const one = (value: unknown, ownUrls?: string[]): ImportedServer => {
  const servers = all(value, ownUrls)
  assert.equal(servers.length, 1)
  return servers[0]!
}
const good = (value: unknown) => {
  const { registration, problems } = one(value)
  assert.deepEqual(problems, [])
  return registration
}

test('`mcpServers` of Claude, Cursor and Windsurf, with comments and trailing commas', () => {
  const servers = all(`\ufeff{
    // what I use
    "mcpServers": {
      "time": { "command": "uvx", "args": ["mcp-server-time"], "env": { "TZ": "UTC" } }, /* local */
      "docs": { "url": "https://mcp.example.com/mcp", "headers": { "X-Key": "k" } },
      "surf": { "serverUrl": "https://surf.example.com/mcp" },
      "old": { "url": "https://old.example.com/sse" },
      "typed": { "type": "http", "url": "https://typed.example.com/sse", },
    },
  }`)
  assert.deepEqual(
    servers.map(({ registration }) => registration),
    [
      { name: 'time', transport: 'stdio', command: 'uvx', args: ['mcp-server-time'], env: { TZ: 'UTC' } },
      { name: 'docs', transport: 'streamable_http', url: 'https://mcp.example.com/mcp', headers: { 'X-Key': 'k' } },
      { name: 'surf', transport: 'streamable_http', url: 'https://surf.example.com/mcp' },
      { name: 'old', transport: 'sse', url: 'https://old.example.com/sse' },
      { name: 'typed', transport: 'streamable_http', url: 'https://typed.example.com/sse' }
    ]
  )
  for (const { problems, notes, ignored, variables } of servers)
    assert.deepEqual([...problems, ...notes, ...ignored, ...variables], [])
})

test('`servers` of VS Code: inputs are asked for as they say, also inside its settings', () => {
  const inputs = [{ type: 'promptString', id: 'api-key', description: 'Your key', password: true, default: 'd' }]
  const servers = { x: { type: 'sse', url: 'https://x.example.com/y', headers: { 'X-Key': '${input:api-key}' } } }
  for (const value of [{ servers, inputs }, { mcp: { servers, inputs } }, { 'mcp.servers': servers, inputs }]) {
    const server = one(value)
    assert.deepEqual(server.registration, {
      name: 'x',
      transport: 'sse',
      url: 'https://x.example.com/y',
      headers: { 'X-Key': '${API_KEY}' }
    })
    assert.deepEqual(server.variables, [{ name: 'API_KEY', isSecret: true, description: 'Your key', default: 'd' }])
  }
})

test('a bare map, one entry without a name, a registration, and an array of those are told apart', () => {
  assert.deepEqual(good({ fetch: { command: 'uvx', args: ['mcp-server-fetch'] } }).name, 'fetch')
  const nameless = one({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything@1.2.3'] })
  assert.equal(nameless.name, 'everything')
  assert.match(nameless.notes[0]!, /no name/)
  assert.equal(one({ url: 'https://mcp.linear.app/mcp' }).name, 'linear')
  assert.equal(one({ url: 'http://127.0.0.1:3000/mcp' }).name, '127-0-0-1')
  const registration = {
    name: 'r',
    transport: 'streamable_http',
    description: 'd',
    session_mode: 'stateful',
    url: 'https://r.example.com/mcp',
    bearer_token: 't',
    headers: { A: 'b' },
    oauth_client_id: 'i',
    oauth_client_secret: 's',
    oauth_redirect_uri: 'https://r.example.com/cb',
    oauth_scopes: ['a'],
    oauth_assume_pkce: true,
    apps: false
  }
  assert.deepEqual(good(registration), registration)
  const { apps: _apps, ...usual } = registration
  assert.deepEqual(good({ ...registration, apps: true }), usual)
  const trusting = one({ ...registration, trusted_annotations: true })
  assert.deepEqual(trusting.ignored, ['trusted_annotations'], 'a text from somewhere must not make policies trust it')
  assert.deepEqual(
    all([registration, { mcpServers: { x: { command: 'x' } } }, { name: 'y', command: 'y' }]).map(({ name }) => name),
    ['r', 'x', 'y']
  )
  assert.deepEqual(
    all({ servers: [registration, { name: 'z', command: 'z' }] }).map(({ name }) => name),
    ['r', 'z']
  )
})

test('a record of MCPJungle, which has every member, is what its given members say', () => {
  const record = { name: 'j', transport: 'stdio', description: '', url: '', command: 'npx', args: ['x'], env: null }
  assert.deepEqual(good(record), { name: 'j', transport: 'stdio', command: 'npx', args: ['x'] })
})

test('an Authorization header with a bearer token becomes `bearer_token`, any other stays a header', () => {
  const url = 'https://a.example.com/mcp'
  const { bearer_token, headers } = good({ x: { url, headers: { authorization: 'Bearer abc', A: 'b' } } })
  assert.deepEqual([bearer_token, headers], ['abc', { A: 'b' }])
  const alone = good({ x: { url, headers: { Authorization: 'bearer ${TOKEN}' } } })
  assert.deepEqual([alone.bearer_token, 'headers' in alone], ['${TOKEN}', false])
  for (const value of ['Basic abc', 'Bearer a b', 'abc'])
    assert.deepEqual(good({ x: { url, headers: { Authorization: value } } }).headers, { Authorization: value })
})

test('every form of a reference is asked for once, as a secret where it stands in one', () => {
  const server = one({
    x: {
      url: 'https://${HOST:-example.com}/mcp',
      headers: { Authorization: 'Bearer ${env:TOKEN}', A: '${TOKEN}-${input:some id}' }
    }
  })
  assert.equal(server.registration.url, 'https://${HOST}/mcp')
  assert.equal(server.registration.bearer_token, '${TOKEN}')
  assert.deepEqual(server.registration.headers, { A: '${TOKEN}-${SOME_ID}' })
  assert.deepEqual(server.variables, [
    { name: 'HOST', isSecret: false, default: 'example.com' },
    { name: 'TOKEN', isSecret: true },
    { name: 'SOME_ID', isSecret: false }
  ])
  assert.deepEqual(server.problems, [])
  const other = one({ x: { command: 'x', args: ['${command:pick}', '$HOME', '${env:Program Files}'] } })
  assert.deepEqual(other.problems.length, 2)
  assert.match(other.problems[0]!, /\$\{command:pick\}/)
  assert.deepEqual(other.variables, [])
})

test('names are made to fit the rule, said so, and clashes are problems', () => {
  const names = ['My Server', 'a__b', '_x', 'café', '日本', 'x'.repeat(80), 'io.github.me/thing', 'ends_']
  const servers = all(Object.fromEntries(names.map((name) => [name, { command: 'x' }])))
  assert.deepEqual(
    servers.map(({ name }) => name),
    ['My-Server', 'a_b', 'x', 'caf', 'server', 'x'.repeat(64), 'io-github-me-thing', 'ends']
  )
  for (const { notes } of servers) assert.match(notes[0]!, /naming rule/)
  const [first, second] = all({ 'a b': { command: 'x' }, 'a-b': { command: 'y' } })
  assert.deepEqual(first!.problems, [])
  assert.match(second!.problems[0]!, /another entry has the name "a-b"/)
})

test('`__proto__` and `constructor` are keys like any other', () => {
  const servers = all('{"__proto__": {"command": "a"}, "constructor": {"command": "b", "__proto__": {"url": "x"}}}')
  assert.deepEqual(
    servers.map(({ name, registration, ignored }) => [name, registration.command, ignored]),
    [
      ['proto', 'a', []],
      ['constructor', 'b', ['__proto__']]
    ]
  )
})

test('keys that mean nothing here are listed', () => {
  const { ignored } = one({ x: { command: 'x', disabled: true, alwaysAllow: ['y'], cwd: '/', timeout: 5 } })
  assert.deepEqual(ignored, ['disabled', 'alwaysAllow', 'cwd', 'timeout'])
})

test('mcp-remote is left out: its address, headers and their environment are taken', () => {
  const bridge = (args: string[], env?: object, command = 'npx') => one({ x: { command, args, ...(env && { env }) } })
  const args = ['-y', 'mcp-remote@latest', 'https://b.example.com/mcp', '--header', 'Authorization:${AUTH}']
  const server = bridge(args, { AUTH: 'Bearer ${env:TOKEN}' })
  assert.deepEqual(server.registration, {
    name: 'x',
    transport: 'streamable_http',
    url: 'https://b.example.com/mcp',
    bearer_token: '${TOKEN}'
  })
  assert.match(server.notes[0]!, /mcp-remote/)
  assert.equal(bridge(['mcp-remote', 'https://b/mcp', '9000', '--transport', 'sse-only']).registration.transport, 'sse')
  assert.equal(bridge(['/c', 'npx', 'mcp-remote', 'https://b/mcp'], {}, 'cmd').registration.url, 'https://b/mcp')
  assert.equal(bridge(['https://b/mcp'], {}, '/usr/bin/mcp-remote').registration.url, 'https://b/mcp')
  for (const other of [['server', 'mcp-remote', 'https://b/mcp'], ['mcp-remote'], ['mcp-remote', 'file:///x']])
    assert.equal(bridge(other).registration.transport, 'stdio', other.join(' '))
})

test('towpath stdio is left out: its gateway, group and token are taken, however it is started', () => {
  const bridge = (command: string, args: string[], env: object = {}) => one({ x: { command, args, env } })
  const to = ['stdio', '--registry', 'https://b.example.com/']
  const started: [string, string[]][] = [
    ['towpath', to],
    ['npx', ['-y', 'towpath@0.1.0', ...to]],
    ['C:\\npm\\towpath.cmd', to],
    ['/usr/bin/node', ['--no-warnings', '/opt/towpath/dist/src/cli/main.js', ...to]],
    ['/opt/towpath/dist/src/cli/main.js', ['--registry=https://b.example.com', 'stdio']]
  ]
  for (const [command, args] of started) {
    const { registration, notes } = bridge(command, args, { TOWPATH_TOKEN: '${TOKEN}' })
    const url = 'https://b.example.com/mcp'
    assert.deepEqual(registration, { name: 'x', transport: 'streamable_http', url, bearer_token: '${TOKEN}' }, command)
    assert.match(notes[0]!, /towpath stdio/)
  }
  const group = bridge('towpath', ['stdio', '--group', 'g'], { TOWPATH_REGISTRY: 'https://b' })
  assert.equal(group.registration.url, 'https://b/v0/groups/g/mcp')
  for (const args of [['start'], ['stdio'], ['stdio', '--registry', 'file:///x']])
    assert.equal(bridge('towpath', args).registration.transport, 'stdio', args.join(' '))
})

test('an entry that leads to this gateway is refused, whatever its loopback name; a neighbour is not', () => {
  const own = ['http://127.0.0.1:8080', 'https://tools.example.com/towpath']
  const problems = (url: string) => one({ x: { url } }, own).problems
  for (const url of [
    'http://127.0.0.1:8080/mcp',
    'http://localhost:8080/v0/groups/a/mcp',
    'http://[::1]:8080/sse',
    'http://localhost.:8080/mcp',
    'http://LOCALHOST:8080/mcp',
    'http://towpath.localhost:8080/mcp',
    'http://127.1:8080/mcp',
    'http://2130706433:8080/mcp',
    'http://0x7f.0.0.1:8080/mcp',
    'http://127.0.0.53:8080/mcp',
    'http://0.0.0.0:8080/mcp',
    'http://[::]:8080/mcp',
    'http://[::ffff:127.0.0.1]:8080/mcp',
    'https://tools.example.com./towpath/mcp',
    'https://TOOLS.example.com/towpath/mcp',
    'https://tools.example.com:443/towpath'
  ])
    assert.deepEqual(problems(url), ['skipped: this entry is this gateway'], url)
  for (const url of [
    'http://127.0.0.1:8081/mcp',
    'https://tools.example.com/towpath2/mcp',
    'http://localhost.example.com:8080/mcp',
    'http://128.0.0.1:8080/mcp',
    'https://tools.example.com/mcp'
  ])
    assert.deepEqual(problems(url), [], url)
  assert.match(
    one({ x: { command: 'npx', args: ['mcp-remote', 'http://localhost:8080/mcp'] } }, own).problems[0]!,
    /this entry is this gateway/
  )
  const stdio = { command: 'towpath', args: ['stdio', '--registry', 'http://localhost:8080', '--group', 'g'] }
  assert.match(one({ x: stdio }, own).problems[0]!, /this entry is this gateway/)
})

test('what cannot be registered says why, and repeats no value', () => {
  const problems = (value: object) => one({ mcpServers: { x: value } }).problems
  assert.match(problems({ url: 'ftp://secret/' })[0]!, /valid http/)
  assert.match(problems({ url: 'https://u:secret@h/' })[0]!, /user name or password/)
  assert.match(problems({ command: 'x', url: 'https://h/' })[0]!, /only one/)
  assert.match(problems({})[0]!, /no command and no address/)
  assert.match(problems([] as object)[0]!, /no command and no address/)
  assert.match(problems({ command: 'x', args: ['a', { secret: 1 }] })[0]!, /"args" must be a list of texts/)
  assert.match(problems({ command: 'x', env: { A: ['secret'] } })[0]!, /"env" must be an object of texts/)
  assert.match(problems({ url: { secret: 1 }, command: 'x' })[0]!, /"url" must be text/)
  assert.match(problems({ url: 'https://h/', type: 'ws' })[0]!, /"ws" is not known/)
  assert.deepEqual(good({ x: { command: 'x', args: [1, true], env: { PORT: 1 } } }), {
    name: 'x',
    transport: 'stdio',
    command: 'x',
    args: ['1', 'true'],
    env: { PORT: '1' }
  })
})

test('a text that is none of the formats has one problem, which repeats nothing of it', () => {
  const problem = (text: string) => {
    const imported = importServers(text)
    assert.deepEqual(imported.servers, [])
    assert.doesNotMatch(imported.problem!, /secret/)
    return imported.problem!
  }
  assert.match(problem('{\n"a": "secret",\n oops secret }'), /not valid JSON \(line 3\)/)
  for (const text of ['', 'a__b', 'some prose about it']) assert.match(problem(text), /unknown format/)
  for (const text of ['{}', '[]', '"secret"', '{"a": "secret"}', '{"a": {"b": "secret"}}', 'null'])
    assert.match(problem(text), /unknown format/)
  assert.match(problem('['.repeat(1_000_000)), /deeply|not valid JSON/)
})

const registry = {
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: 'io.github.example/mail-mcp',
  description: 'Mail',
  version: '1.0.0'
}

test('server.json of the MCP registry: npm and PyPI packages, with what must be asked', () => {
  const npm = {
    registryType: 'npm',
    identifier: '@example/mail-mcp',
    version: '1.0.0',
    transport: { type: 'stdio' },
    runtimeArguments: [{ type: 'named', name: '--quiet', isRequired: true }],
    packageArguments: [
      { type: 'positional', value: 'serve' },
      { type: 'positional', valueHint: 'mail_box', isRequired: true, description: 'Which box' },
      { type: 'named', name: '--port', default: '25' },
      { type: 'named', name: '--verbose' },
      { type: 'named', name: '--host', value: '{host}.example.com', variables: { host: { default: 'a' } } },
      { type: 'positional', valueHint: 'optional' }
    ],
    environmentVariables: [
      { name: 'MAIL_KEY', isRequired: true, isSecret: true, description: 'Key' },
      { name: 'MAIL_MODE', default: 'fast' },
      { name: 'MAIL_MORE' }
    ]
  }
  const server = one({ ...registry, packages: [npm] })
  assert.deepEqual(server.registration, {
    name: 'mail-mcp',
    transport: 'stdio',
    description: 'Mail',
    command: 'npx',
    args: [
      '-y',
      '--quiet',
      '@example/mail-mcp@1.0.0',
      'serve',
      '${MAIL_BOX}',
      '--port',
      '25',
      '--host',
      '${HOST}.example.com'
    ],
    env: { MAIL_KEY: '${MAIL_KEY}', MAIL_MODE: 'fast' }
  })
  assert.deepEqual(server.variables, [
    { name: 'MAIL_KEY', isSecret: true, description: 'Key' },
    { name: 'MAIL_BOX', isSecret: false, description: 'Which box' },
    { name: 'HOST', isSecret: false, default: 'a' }
  ])
  const pypi = { registryType: 'pypi', identifier: 'mail', version: '2', transport: { type: 'stdio' } }
  const { command, args } = good({ server: { ...registry, packages: [pypi] }, _meta: {} })
  assert.deepEqual([command, args], ['uvx', ['mail==2']])
})

test('server.json of the MCP registry: addresses come before packages, streamable HTTP before SSE', () => {
  const remotes = [
    { type: 'sse', url: 'https://m.example.com/events' },
    {
      type: 'streamable-http',
      url: 'https://{tenant}.example.com/mcp',
      variables: { tenant: { isRequired: true } },
      headers: [{ name: 'Authorization', value: 'Bearer {key}', variables: { key: { isSecret: true } } }]
    }
  ]
  const server = one({ ...registry, remotes, packages: [{ registryType: 'npm', identifier: 'x' }] })
  assert.deepEqual(server.registration, {
    name: 'mail-mcp',
    transport: 'streamable_http',
    description: 'Mail',
    url: 'https://${TENANT}.example.com/mcp',
    bearer_token: '${KEY}'
  })
  assert.match(server.notes[0]!, /first of 3 remotes/)
  assert.deepEqual(server.variables, [
    { name: 'TENANT', isSecret: false },
    { name: 'KEY', isSecret: true }
  ])
  assert.equal(good({ ...registry, remotes: [remotes[0]] }).transport, 'sse')
  const query = { type: 'sse', url: 'https://h/mcp?key={key}', variables: { key: { isSecret: true } } }
  assert.equal(good({ ...registry, remotes: [query] }).url, 'https://h/mcp?key=${KEY}')
  assert.match(one({ ...registry, packages: [] }).problems[0]!, /neither a remote nor a package/)
})

test('server.json of the MCP registry: as strict as the catalogue about what a publisher may run', () => {
  const npm = { registryType: 'npm', identifier: 'x', version: '1', transport: { type: 'stdio' } }
  for (const [changes, problem] of [
    [{ registryType: 'mcpb' }, /packages of the type "mcpb" are not supported/],
    [{ transport: { type: 'sse', url: 'x' } }, /its program listens for sse/],
    [{ identifier: '/opt/evil' }, /name or version of its package is not valid/],
    [{ identifier: '--registry=http://evil.example' }, /name or version of its package is not valid/],
    [{ registryBaseUrl: 'https://evil.example' }, /a package registry of its own/],
    [{ environmentVariables: [{ name: 'NODE_OPTIONS', value: '--require=/tmp/x' }] }, /it sets NODE_OPTIONS/],
    [{ environmentVariables: [{ name: 'HTTPS_PROXY', value: 'http://evil.example' }] }, /it sets HTTPS_PROXY/],
    [
      { runtimeArguments: [{ type: 'named', name: '--registry', value: 'http://evil.example' }] },
      /something else could/
    ],
    [{ packageArguments: [{ type: 'positional', value: 'a\u202eb' }] }, /hidden characters/],
    [{ packageArguments: [{ type: 'named', value: 'a' }] }, /named argument without a name/]
  ] as const) {
    const { problems } = one({ ...registry, packages: [{ ...npm, ...changes }] })
    assert.match(problems[0] ?? 'none', problem)
  }
  const oci = { registryType: 'oci', identifier: 'ghcr.io/a/b', version: '1', transport: { type: 'stdio' } }
  assert.deepEqual(good({ ...registry, packages: [oci] }).args, ['run', '-i', '--rm', 'ghcr.io/a/b:1'])
})
