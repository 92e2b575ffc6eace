import assert from 'node:assert/strict'
import { chmod, mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import test from 'node:test'
import { execFileSync } from 'node:child_process'
import { backUp, readClientFile, writeClientFile } from '../../src/cli/clients/client-file.ts'
import { findClients } from '../../src/cli/clients/find.ts'
import { placePath, stateFolder } from '../../src/cli/clients/paths.ts'
import type { CliIo } from '../../src/cli/io/io.ts'
import { CLIENT_PLACES, FILE_CLIENTS, type FileClient } from '../../src/domain/clients/clients.ts'
import { tempDir } from '../store.ts'

const stream = { write: () => true }
const ioOf = (home: string, more: Partial<CliIo> = {}): CliIo => ({
  env: {},
  program: 'towpath',
  home,
  platform: 'linux',
  cwd: join(home, 'project'),
  stdin: Readable.from([]),
  stdout: stream,
  stderr: stream,
  ...more
})

const filesOf = (client: FileClient, io: CliIo) => CLIENT_PLACES[client].map((place) => placePath(io, place))

/** Writes files below a new home and returns what is found there. */
async function found(t: test.TestContext, files: Record<string, string>, env: CliIo['env'] = {}) {
  const home = await tempDir(t)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, path)), { recursive: true })
    await writeFile(join(home, path), text)
  }
  const { places, unreadable } = await findClients(ioOf(home, { env }), ['http://127.0.0.1:8080'])
  const servers = places.flatMap((each) => each.servers)
  const registrations = Object.fromEntries(servers.map(({ name, imported }) => [name, imported.registration]))
  return { home, places, unreadable, servers, registrations }
}

test('the files of each client are in the folders of the system, and variables move them', () => {
  const mac = ioOf('/Users/u', { platform: 'darwin' })
  const windows = ioOf('C:\\Users\\u', {
    platform: 'win32',
    cwd: 'C:\\work',
    env: { APPDATA: 'D:\\Roaming', USERPROFILE: 'D:\\u', LOCALAPPDATA: 'D:\\Local' }
  })
  const linux = ioOf('/home/u', { env: { XDG_CONFIG_HOME: '/x', XDG_STATE_HOME: '/s', CODEX_HOME: '/c' } })
  const desktop = (io: CliIo) => filesOf('claude-desktop', io)[0]
  assert.equal(desktop(mac), '/Users/u/Library/Application Support/Claude/claude_desktop_config.json')
  assert.equal(desktop(windows), 'D:\\Roaming\\Claude\\claude_desktop_config.json')
  assert.equal(desktop(linux), '/x/Claude/claude_desktop_config.json')
  assert.equal(
    desktop(ioOf('C:\\u', { platform: 'win32' })),
    'C:\\u\\AppData\\Roaming\\Claude\\claude_desktop_config.json'
  )
  assert.deepEqual(filesOf('cursor', windows), ['D:\\u\\.cursor\\mcp.json', 'C:\\work\\.cursor\\mcp.json'])
  assert.equal(filesOf('goose', windows)[0], 'D:\\Roaming\\Block\\goose\\config\\config.yaml')
  assert.equal(filesOf('goose', mac)[0], '/Users/u/.config/goose/config.yaml')
  assert.equal(filesOf('zed', mac)[0], '/Users/u/.config/zed/settings.json')
  assert.deepEqual(filesOf('codex', linux), ['/c/config.toml', '/home/u/project/.codex/config.toml'])
  assert.equal(filesOf('vscode', mac)[1], '/Users/u/Library/Application Support/Code/User/mcp.json')
  assert.deepEqual([linux, mac, windows].map(stateFolder), [
    '/s/towpath',
    '/Users/u/Library/Application Support/towpath',
    'D:\\Local\\towpath'
  ])
})

test('Claude Code: servers of the user, of the project, and of each project of the user', async (t) => {
  const home = await tempDir(t)
  const project = join(home, 'project')
  const { servers } = await found(t, {
    '.claude.json': JSON.stringify({
      numStartups: 3,
      mcpServers: { user: { type: 'stdio', command: 'a' } },
      projects: {
        [project]: { mcpServers: { local: { command: 'b' }, off: { command: 'c' } }, disabledMcpServers: ['off'] },
        '/other': { mcpServers: {}, history: [] }
      }
    }),
    'project/.mcp.json': '{"mcpServers": {"shared": {"type": "http", "url": "https://h/mcp"}}}'
  })
  assert.deepEqual(
    servers.map(({ name, place, isEnabled, path }) => [name, place.scope, isEnabled, path.length]),
    [
      ['user', 'user', true, 2],
      ['local', 'local', true, 4],
      ['off', 'local', false, 4],
      ['shared', 'project', true, 2]
    ]
  )
})

test('JSON of other clients: comments, trailing commas, switched-off servers and their own names of members', async (t) => {
  const { servers, registrations } = await found(t, {
    '.cursor/mcp.json':
      '{ // c\n "mcpServers": { "cursor": { "url": "https://c/mcp", }, "self": {"url": "http://localhost:8080/mcp"}, }, }',
    '.config/Code/User/mcp.json': '{"inputs": [], "servers": {"code": {"type": "http", "url": "https://v/mcp"}}}',
    '.config/Code/User/settings.json': '{"editor.tabSize": 2, "mcp": {"servers": {"old": {"command": "o"}}}}',
    '.codeium/windsurf/mcp_config.json': '{"mcpServers": {"wind": {"serverUrl": "https://w/mcp", "disabled": true}}}',
    '.gemini/settings.json':
      '{"mcp": {"excluded": ["out"]}, "mcpServers": {"gem": {"httpUrl": "https://g/mcp", "headers": {"X-Key": "$GKEY"}}, "gsse": {"url": "https://g/events"}, "out": {"command": "x"}}}',
    '.config/zed/settings.json':
      '{"theme": "x", "context_servers": {"zed": {"source": "custom", "command": "z", "args": ["1"]}, "older": {"command": {"path": "p", "args": ["2"]}}, "ext": {"settings": {}}, "zoff": {"enabled": false, "command": "n"}}}',
    '.cline/data/settings/cline_mcp_settings.json':
      '{"mcpServers": {"cl": {"type": "streamableHttp", "url": "https://l/mcp", "autoApprove": []}}}',
    '.config/opencode/opencode.jsonc':
      '{"$schema": "s", "mcp": {"oc": {"type": "local", "command": ["npx", "-y", "o"], "environment": {"A": "{env:B}"}}, "servers": {}}}'
  })
  assert.deepEqual(
    servers.filter(({ isEnabled }) => !isEnabled).map(({ name }) => name),
    ['wind', 'out', 'zoff']
  )
  assert.deepEqual(registrations.gem, {
    name: 'gem',
    transport: 'streamable_http',
    url: 'https://g/mcp',
    headers: { 'X-Key': '${GKEY}' }
  })
  assert.equal(registrations.gsse?.transport, 'sse')
  assert.deepEqual([registrations.older?.command, registrations.older?.args], ['p', ['2']])
  assert.deepEqual(registrations.oc, {
    name: 'oc',
    transport: 'stdio',
    command: 'npx',
    args: ['-y', 'o'],
    env: { A: '${B}' }
  })
  assert.equal(registrations.cl?.transport, 'streamable_http')
  const problems = Object.fromEntries(servers.map(({ name, imported }) => [name, imported.problems.join()]))
  assert.match(problems.ext!, /extension of Zed/)
  assert.match(problems.self!, /this gateway/)
  assert.equal(problems.old, '')
  assert.equal(registrations.servers, undefined)
})

test('Codex in TOML and goose in YAML: variables become references, and what only the client has is told', async (t) => {
  const { servers, registrations } = await found(t, {
    '.codex/config.toml': `model = "m"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env_vars = ["TOKEN_A"]
[mcp_servers.docs.env]
B = "2"
[mcp_servers.far]
url = "https://f/mcp"
bearer_token_env_var = "FAR"
http_headers = { "X-A" = "1" }
env_http_headers = { "X-B" = "VB" }
enabled = false
[mcp_servers.elsewhere]
command = "x"
cwd = "/srv"
`,
    '.config/goose/config.yaml': `GOOSE_MODEL: m
extensions:
  developer: { enabled: true, type: builtin, name: developer }
  memory:
    type: stdio
    cmd: npx
    args: [-y, memory]
    envs: { A: "1" }
    env_keys: [KEY]
    enabled: true
  far: { type: streamable_http, uri: https://g/mcp, enabled: false }
`
  })
  assert.deepEqual(registrations.docs?.env, { TOKEN_A: '${TOKEN_A}', B: '2' })
  assert.deepEqual(registrations.memory, {
    name: 'memory',
    transport: 'stdio',
    command: 'npx',
    args: ['-y', 'memory'],
    env: { KEY: '${KEY}', A: '1' }
  })
  const far = servers.filter(({ name }) => name === 'far')
  assert.deepEqual(
    far.map(({ client, isEnabled, imported }) => [client, isEnabled, imported.registration.bearer_token]),
    [
      ['codex', false, '${FAR}'],
      ['goose', false, undefined]
    ]
  )
  assert.deepEqual(far[0]!.imported.registration.headers, { 'X-A': '1', 'X-B': '${VB}' })
  const problems = Object.fromEntries(servers.map(({ name, imported }) => [name, imported.problems.join()]))
  assert.match(problems.developer!, /built into goose/)
  assert.match(problems.elsewhere!, /working directory/)
})

test('a file that is too large, not text, not JSON or not a file is reported, and the others are read', async (t) => {
  const { home, places, unreadable } = await found(t, {
    '.cursor/mcp.json': '{"mcpServers": {"a": {"command": "secret',
    '.gemini/settings.json': '{"mcpServers": {"ok": {"command": "x"}}}',
    '.lmstudio/mcp.json': '{}',
    '.config/goose/config.yaml': 'extensions: "secret\n'
  })
  assert.deepEqual(
    places.map(({ client }) => client),
    ['gemini-cli', 'lm-studio']
  )
  assert.equal(unreadable.length, 2)
  for (const { problem } of unreadable) assert.doesNotMatch(problem, /secret/)
  const refuses = (name: string, why: RegExp) => assert.rejects(readClientFile(join(home, name)), why)
  await truncate(join(home, '.lmstudio/mcp.json'), 33 * 1024 * 1024)
  await refuses('.lmstudio/mcp.json', /larger than 32 MiB/)
  await writeFile(join(home, 'bytes'), Buffer.from([0xff, 0xfe]))
  await refuses('bytes', /not UTF-8/)
  await symlink(join(home, 'nowhere'), join(home, 'link'))
  await refuses('link', /link to a file that does not exist/)
  await refuses('.cursor', /not a regular file/)
  execFileSync('mkfifo', [join(home, 'pipe')])
  await refuses('pipe', /not a regular file/)
  assert.equal(await readClientFile(join(home, 'nothing')), undefined)
})

test('a client’s file is written only if it is writable and has not changed, and its mode is kept', async (t) => {
  const home = await tempDir(t)
  const path = join(home, 'mcp.json')
  const link = join(home, 'link.json')
  await writeFile(path, 'before')
  await chmod(path, 0o640)
  await symlink(path, link)
  const before = (await readClientFile(link))!
  const at = new Date('2026-11-22T10:20:30.456Z')
  const copy = await backUp(before, at)
  assert.equal(copy, `${link}.2026-11-22T10-20-30Z.bak`)
  assert.equal(await backUp(before, at), `${link}.2026-11-22T10-20-30Z-2.bak`)
  await writeClientFile(link, before, 'after')
  const after = (await readClientFile(path))!
  assert.deepEqual([after.text, after.mode, (await readClientFile(copy))?.text], ['after', 0o640, 'before'])
  assert.equal((await readClientFile(copy))?.mode, 0o640)
  await assert.rejects(writeClientFile(path, before, 'x'), /another program has changed it/)
  await assert.rejects(writeClientFile(path, undefined, 'x'), /another program has changed it/)
  await chmod(path, 0o440)
  await assert.rejects(
    readClientFile(path).then((file) => writeClientFile(path, file, 'x')),
    /read-only/
  )
  assert.equal((await readClientFile(path))?.text, 'after')
})

test('each client has a place of the user to which its entry can go', () => {
  for (const client of FILE_CLIENTS)
    assert.ok(
      CLIENT_PLACES[client].some(({ scope, isOld }) => scope === 'user' && !isOld),
      client
    )
})
