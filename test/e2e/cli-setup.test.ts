import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse as parseJsonc } from 'jsonc-parser'
import { parse as parseYaml } from 'yaml'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { shareSetup } from '../shared-setup.ts'
import { addCleanup } from '../store.ts'
import { commandLine, type CommandLine } from './cli.ts'
import { skip, startEnterprise } from './enterprise.ts'
import { root, startGateway, type Gateway } from './harness.ts'

const fixture = join(root, 'test/fixtures/stdio/good.mjs')

/** A gateway and an HTTP server that all tests of this file share; each test has its own home. */
const shared = shareSetup(async (t) => {
  const recorder = await startRecorder(null)
  addCleanup(t, recorder.close)
  return { gateway: await startGateway(t), url: recorder.url }
})

interface Home {
  readonly gateway: Gateway
  readonly cli: CommandLine
  /** Relative paths of the files of clients, with their texts. */
  readonly files: Readonly<Record<string, string>>
}

const json = (value: unknown) => JSON.stringify(value, null, 2)

/** Returns the files of five clients with six servers, of which two are the same and one is disabled. */
function clientFiles(url: string): Record<string, string> {
  const good = { command: process.execPath, args: [fixture], env: { API_KEY: 'secret-good' } }
  return {
    '.claude.json': json({ numStartups: 7, mcpServers: { good: { type: 'stdio', ...good } }, projects: {} }),
    '.cursor/mcp.json': `{\n  // mine\n  "mcpServers": {\n    "same": ${JSON.stringify(good)}, // the same\n    "remote": { "url": "${url}/", },\n  },\n}\n`,
    '.config/Code/User/mcp.json': `{"servers": {"down": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}, "inputs": []}`,
    '.codex/config.toml': `# mine\nmodel = "m"\n\n[mcp_servers.remote]\nurl = "${url}" # the same\n\n[mcp_servers.off]\ncommand = "nothing"\nenabled = false\n`,
    '.config/goose/config.yaml': `GOOSE_MODEL: m # mine\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  yaml:\n    type: stdio\n    cmd: ${process.execPath}\n    args: ["${fixture}"]\n    enabled: true\n`
  }
}

async function prepare(t: TestContext, change: (files: Record<string, string>) => void = () => {}): Promise<Home> {
  const { gateway, url } = await shared()
  for (const { name } of (await gateway.get('/api/v0/servers')).body as { name: string }[])
    await gateway.remove(`/api/v0/servers/${name}`)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const files = clientFiles(url)
  change(files)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(cli.home, path)), { recursive: true })
    await writeFile(join(cli.home, path), text, { mode: 0o640 })
    await chmod(join(cli.home, path), 0o640)
  }
  return { gateway, cli, files }
}

/** Returns the texts of all files in the home, without those that the command line itself keeps. */
async function texts(home: string): Promise<Record<string, string>> {
  const entries = await readdir(home, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const own = paths.map((path) => path.slice(home.length + 1)).filter((path) => path !== 'towpath.js')
  return Object.fromEntries(
    await Promise.all(own.map(async (path) => [path, await readFile(join(home, path), 'utf8')]))
  )
}

const names = async ({ gateway }: Home) =>
  ((await gateway.get('/api/v0/servers')).body as { name: string }[]).map(({ name }) => name).toSorted()

test('setup merges the servers of five clients, points them at the gateway, and undo restores every byte', async (t) => {
  const home = await prepare(t)
  const { cli, gateway, files } = home
  const planned = await cli(['setup', '--dry-run', '--json'])
  assert.equal(planned.code, 0, planned.err)
  assert.deepEqual(
    planned.json.servers.map(({ name, outcome, clients }: { name: string; outcome: string; clients: string[] }) =>
      [name, outcome, ...clients].join(' ')
    ),
    [
      'good new claude-code cursor',
      'remote new cursor codex',
      'down new vscode',
      'off disabled codex',
      'developer unusable goose',
      'yaml new goose'
    ]
  )
  assert.deepEqual(await texts(cli.home), files)
  assert.deepEqual(await names(home), [])

  const done = await cli(['setup', '--yes', '--json'])
  assert.equal(done.code, 1, done.err)
  for (const text of [planned.out, planned.err, done.out, done.err]) assert.doesNotMatch(text, /secret-good/)
  assert.deepEqual(await names(home), ['good', 'remote', 'yaml'])
  const listed = await cli(['list', 'servers', '-o', 'name'])
  assert.deepEqual(listed.out.trim().split('\n').toSorted(), ['good', 'remote', 'yaml'])
  const failed = done.json.servers.find(({ name }: { name: string }) => name === 'down')
  assert.equal(failed.outcome, 'failed')
  assert.match(failed.problems.join(), /connection refused|unreachable|connect/i)

  const after = await texts(cli.home)
  const endpoint = `${gateway.url}/mcp`
  const claude = JSON.parse(after['.claude.json']!)
  assert.deepEqual(claude.mcpServers, { towpath: { type: 'http', url: endpoint } })
  assert.equal(claude.numStartups, 7)
  assert.match(after['.cursor/mcp.json']!, /\/\/ mine/)
  assert.deepEqual(parseJsonc(after['.cursor/mcp.json']!).mcpServers, { towpath: { url: endpoint } })
  assert.deepEqual(Object.keys(JSON.parse(after['.config/Code/User/mcp.json']!).servers), ['down', 'towpath'])
  assert.match(
    after['.codex/config.toml']!,
    /^# mine\nmodel = "m"\n\n\[mcp_servers\.off\]\n[^]*\[mcp_servers\.towpath\]\n/
  )
  const { extensions } = parseYaml(after['.config/goose/config.yaml']!)
  assert.deepEqual(Object.keys(extensions), ['developer', 'towpath'])
  assert.equal((await stat(join(cli.home, '.cursor/mcp.json'))).mode & 0o777, 0o640)
  assert.equal(Object.keys(after).filter((path) => /\.\d{4}-[\dTZ-]+\.bak$/.test(path)).length, 5)

  const undone = await cli(['setup', '--undo', '--yes', '--json'])
  assert.equal(undone.code, 0, undone.err)
  assert.deepEqual(await texts(cli.home), files)
  assert.deepEqual(await names(home), [])
  assert.equal((await cli(['setup', '--undo', '--yes'])).code, 3)
})

test('the tokens shown are those of the tools that a client lists, before and now', async (t) => {
  const home = await prepare(t)
  const { tokens } = (
    await home.cli(['setup', '--yes', '--json', '--client', 'cursor', '--client', 'vscode', '--client', 'codex'])
  ).json
  const overview = (await home.gateway.get('/api/dashboard/overview')).body
  const [cursor, vscode] = tokens as { client: string; before: number; now: number; unmeasured: number }[]
  assert.deepEqual([cursor!.client, cursor!.now, cursor!.unmeasured], ['cursor', overview.tokens, 0])
  assert.ok(cursor!.before > 0 && cursor!.before < cursor!.now)
  assert.deepEqual([vscode!.before, vscode!.unmeasured, vscode!.now], [0, 1, overview.tokens])
})

test('a second setup changes nothing, and without a terminal setup asks for --yes', async (t) => {
  const { cli } = await prepare(t, (files) => delete files['.config/Code/User/mcp.json'])
  const refused = await cli(['setup'])
  assert.equal(refused.code, 2)
  assert.match(refused.err, /no terminal to ask on\nhint: .*--dry-run.*--yes/)
  assert.equal((await cli(['setup', '--undo'])).code, 2)
  assert.equal((await cli(['setup', '--yes'])).code, 0)
  const before = await texts(cli.home)
  const again = await cli(['setup', '--yes', '--json'])
  assert.equal(again.code, 0, again.err)
  assert.deepEqual(again.json.files, [])
  assert.match(again.err, /no client’s file was changed/)
  assert.deepEqual(await texts(cli.home), before)
})

test('undo keeps what a client has written since, shows the difference, and puts its servers back', async (t) => {
  const { cli, files } = await prepare(t)
  await cli(['setup', '--yes'])
  const path = join(cli.home, '.claude.json')
  await writeFile(path, (await readFile(path, 'utf8')).replace('"numStartups": 7', '"numStartups": 8'))
  const shown = await cli(['setup', '--undo', '--dry-run'])
  assert.match(shown.err, /\.claude\.json has changed since the set-up[^]*\n {2}\+ +"good"/)
  assert.doesNotMatch(shown.err, /secret-good/)
  const undone = await cli(['setup', '--undo', '--yes', '--json'])
  assert.equal(undone.code, 0, undone.err)
  const { numStartups, mcpServers } = JSON.parse(await readFile(path, 'utf8'))
  assert.equal(numStartups, 8)
  assert.deepEqual(mcpServers, JSON.parse(files['.claude.json']!).mcpServers)
  assert.equal(await readFile(join(cli.home, '.codex/config.toml'), 'utf8'), files['.codex/config.toml'])
})

test('after a set-up that was stopped midway, undo removes its servers and restores the files it had changed', async (t) => {
  const home = await prepare(t)
  const { cli, files } = home
  await cli(['setup', '--yes'])
  // the state before the last files are written, and after: one file without its change, one without its backup too
  const state = await texts(cli.home)
  const backup = (path: string) => Object.keys(state).find((each) => each.startsWith(`${path}.`))!
  for (const path of ['.codex/config.toml', '.config/goose/config.yaml'])
    await writeFile(join(cli.home, path), files[path]!)
  await rm(join(cli.home, backup('.config/goose/config.yaml')))
  const undone = await cli(['setup', '--undo', '--yes'])
  assert.equal(undone.code, 0, undone.err)
  assert.deepEqual(await texts(cli.home), files)
  assert.deepEqual(await names(home), [])
})

test('a client whose file is broken or read-only stays as it is, and the others are set up', async (t) => {
  const { cli, files } = await prepare(t, (all) => {
    all['.cursor/mcp.json'] = '{"mcpServers": {"a": secret'
    delete all['.config/Code/User/mcp.json']
  })
  await chmod(join(cli.home, '.codex/config.toml'), 0o440)
  const done = await cli(['setup', '--yes', '--json'])
  assert.equal(done.code, 1)
  const refused = done.json.files.filter(({ outcome }: { outcome: string }) => outcome === 'refused')
  assert.deepEqual(
    refused.map(({ client, problem }: { client: string; problem: string }) => [client, problem]),
    [
      ['cursor', 'it is not valid JSON (line 1)'],
      ['codex', 'it is read-only']
    ]
  )
  const after = await texts(cli.home)
  assert.equal(after['.cursor/mcp.json'], files['.cursor/mcp.json'])
  assert.equal(after['.codex/config.toml'], files['.codex/config.toml'])
  assert.match(after['.claude.json']!, /towpath/)
})

test('a client without a file gets one if it is named, and undo removes it', async (t) => {
  const { cli, files } = await prepare(t)
  assert.match((await cli(['setup', '--yes', '--client', 'windserf'])).err, /did you mean "windsurf"\?/)
  const done = await cli(['setup', '--yes', '--client', 'windsurf'])
  assert.equal(done.code, 0, done.err)
  const path = join(cli.home, '.codeium/windsurf/mcp_config.json')
  assert.match(await readFile(path, 'utf8'), /"serverUrl"/)
  assert.equal((await cli(['setup', '--undo', '--yes'])).code, 0)
  assert.deepEqual(await texts(cli.home), files)
})

test(
  'in enterprise mode clients refer to the variable of the token, and those that cannot are refused without it',
  { skip },
  async (t) => {
    const { url } = await shared()
    const { url: registry, tokens } = await startEnterprise(t)
    const cli = await commandLine(t, { TOWPATH_REGISTRY: registry, TOWPATH_TOKEN: tokens.admin })
    await mkdir(join(cli.home, '.cursor'))
    await mkdir(join(cli.home, '.lmstudio'))
    const text = json({ mcpServers: { remote: { url } } })
    await writeFile(join(cli.home, '.cursor/mcp.json'), text)
    await writeFile(join(cli.home, '.lmstudio/mcp.json'), text)
    const done = await cli(['setup', '--yes', '--json'])
    assert.equal(done.code, 1, done.err)
    assert.match(await readFile(join(cli.home, '.cursor/mcp.json'), 'utf8'), /Bearer \$\{env:TOWPATH_CLIENT_TOKEN\}/)
    assert.equal(await readFile(join(cli.home, '.lmstudio/mcp.json'), 'utf8'), text)
    assert.ok(done.json.tokens.every(({ now }: { now?: number }) => now === undefined))
    const created = await cli(['create', 'mcp-client', 'agent', '--allow', '*', '--json'])
    const token = created.json.access_token as string
    const second = await cli(['setup', '--yes', '--json'], { env: { TOWPATH_CLIENT_TOKEN: token } })
    assert.equal(second.code, 0, second.err)
    for (const each of [second.out, second.err]) assert.ok(!each.includes(token))
    assert.ok((await readFile(join(cli.home, '.lmstudio/mcp.json'), 'utf8')).includes(token))
    assert.equal((await stat(join(cli.home, '.lmstudio/mcp.json'))).mode & 0o777, 0o600)
    assert.ok(second.json.tokens.every(({ now }: { now?: number }) => now! > 0))
  }
)
