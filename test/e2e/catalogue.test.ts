import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import shipped from '../../src/control/catalogue/servers.json' with { type: 'json' }
import { tempDir } from '../store.ts'
import { commandLine } from './cli.ts'
import { root, startGateway } from './harness.ts'
import { noTerminal, openTerminal } from './terminal.ts'

const filesystem = 'io.github.modelcontextprotocol/server-filesystem'
const memory = 'io.github.modelcontextprotocol/server-memory'

test('the list of the package names the versions of the servers that are installed for tests', () => {
  for (const name of ['server-filesystem', 'server-memory', 'server-everything']) {
    const file = join(root, 'node_modules/@modelcontextprotocol', name, 'package.json')
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
    const entry = shipped.servers.find((server) => server.name.endsWith(`/${name}`))
    assert.equal(entry?.version, version, `npx would have to download ${name}: update servers.json`)
  }
})

test('servers are found and installed with npx, and nothing runs before it is confirmed', async (t) => {
  const gateway = await startGateway(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const found = await cli(['search', 'files', 'folders'])
  assert.equal(found.code, 0, found.err)
  assert.match(found.out, /^NAME +VERSION +PACKAGES +DESCRIPTION\nio\.github\.modelcontextprotocol\/server-filesystem/)
  assert.match(found.err, /1 of 1 servers, from the list of the package/)

  const folder = await tempDir(t)
  const unset = await cli(['install', 'filesystem', '--yes'])
  assert.deepEqual([unset.code, /DIRECTORY/.test(unset.err), /--set DIRECTORY=/.test(unset.err)], [2, true, true])
  const unconfirmed = await cli(['install', 'filesystem', '--set', `DIRECTORY=${folder}`])
  assert.equal(unconfirmed.code, 2)
  assert.match(unconfirmed.err, /the gateway will run: npx -y @modelcontextprotocol\/server-filesystem@/)
  assert.match(unconfirmed.err, /--yes/)
  assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])

  const installed = await cli(
    ['install', filesystem, '--as', 'docs', '--set', 'DIRECTORY=${FOLDER}', '--yes', '--json'],
    {
      env: { FOLDER: folder }
    }
  )
  assert.equal(installed.code, 0, installed.err)
  assert.equal(installed.json.name, 'docs')
  assert.deepEqual(installed.json.args.slice(-1), [folder])
  const tools = await cli(['list', 'tools', '--server', 'docs', '-o', 'name'])
  assert.match(tools.out, /^docs__read_text_file$/m)

  const taken = await cli(['install', filesystem, '--as', 'docs', '--set', `DIRECTORY=${folder}`, '--yes'])
  assert.deepEqual([taken.code, /--force/.test(taken.err)], [5, true])
  const stdin = await cli(['install', memory, '--set-stdin', 'MEMORY_FILE_PATH', '--dry-run', '--json'], {
    input: '/srv/graph.json\n'
  })
  assert.deepEqual(stdin.json.env, { MEMORY_FILE_PATH: '/srv/graph.json' })
})

test('a name that is unknown, a package that is not there and a value that is not asked for are explained', async (t) => {
  const gateway = await startGateway(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const unknown = await cli(['install', 'no-such-server', '--yes'])
  assert.deepEqual([unknown.code, /towpath search/.test(unknown.err)], [3, true])
  const absent = await cli(['install', memory, '--package', 'oci', '--yes'])
  assert.deepEqual([absent.code, /it has npm/.test(absent.err)], [2, true])
  const extra = await cli(['install', memory, '--set', 'NONE=SENT', '--yes'])
  assert.deepEqual([extra.code, /"NONE"/.test(extra.err), /SENT/.test(extra.err)], [2, true, false])
  const bash = await cli(['__complete', 'bash', '--', 'install', 'io.github.modelcontextprotocol/server-me'])
  assert.equal(bash.out.trim(), memory)
})

test(
  'on a terminal required values are asked for, secrets unseen, and the command is shown first',
  { skip: noTerminal },
  async (t) => {
    const gateway = await startGateway(t)
    const home = await tempDir(t)
    const INPUTRC = join(home, 'inputrc')
    await writeFile(INPUTRC, 'set enable-bracketed-paste off\n')
    const env = { PATH: process.env.PATH, HOME: home, INPUTRC, TOWPATH_REGISTRY: gateway.url }
    const terminal = await openTerminal(t, env)
    const cli = `${process.execPath} --import tsx ${join(root, 'src/cli/main.ts')}`
    const { shown, code } = await terminal.run(
      `(cd ${root} && ${cli} install io.github.tavily-ai/tavily-mcp)`,
      [/TAVILY_API_KEY \(API key of Tavily\): $/, 'tvly-S3CRET\n'],
      [/Register it as "tavily"\? \[y\/N\] $/, 'n\n']
    )
    assert.equal(code, 0)
    assert.match(shown, /the gateway will run: npx -y tavily-mcp@[\d.]+\r?\n +variable TAVILY_API_KEY=\*\*\*/)
    assert.match(shown, /nothing was installed/)
    assert.doesNotMatch(shown, /S3CRET/)
    assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])
  }
)
