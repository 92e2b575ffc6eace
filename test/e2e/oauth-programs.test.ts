import assert from 'node:assert/strict'
import type { EventEmitter } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { decodeJwt } from 'jose'
import type { Page } from '../fixtures/identity-provider/browser.ts'
import { shareSetup } from '../shared-setup.ts'
import { tempDir } from '../store.ts'
import { toolPath } from '../tools/tools.ts'
import { cleanEnv, run } from './harness.ts'
import { freePort } from '../ports.ts'
import { letIn, startSignInProcess } from './sign-in-gateway.ts'

const start = shareSetup(startSignInProcess)
/** Starts no browser: a command that does nothing stands for it, and the test opens the link instead. */
const env = { ...cleanEnv(), BROWSER: 'true', MCP_AUTO_OPEN_ENABLED: 'true' } as Record<string, string>

/** Reads the output of a program; as soon as it shows a link to the authorization page, alice lets the program in. */
function letInFromOutput(stream: Pick<EventEmitter, 'on'>) {
  const pages: Promise<Page>[] = []
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    const [, link] = /(http\S+\/oauth\/authorize\?\S+)\s/.exec(text) ?? []
    if (!link) return
    text = ''
    const page = letIn(link)
    // a failure shows when the pages are awaited
    page.catch(() => {})
    pages.push(page)
  })
  return pages
}

const echo = { name: 'k8s__echo', arguments: { text: 'hello' } }

/** Runs mcp-remote as an MCP client would, and calls a tool through it. Returns the pages at which the browser ended. */
async function useMcpRemote(t: TestContext, folder: string, args: readonly string[]) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [toolPath('mcp-remote/dist/proxy.js'), ...args, '--auth-timeout', '600'],
    env: { ...env, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
    stderr: 'pipe'
  })
  const pages = letInFromOutput(transport.stderr!)
  const client = new Client({ name: 'a client of a test', version: '1' })
  t.after(() => client.close())
  await client.connect(transport, { timeout: 600_000 })
  const { tools } = await client.listTools()
  assert.ok(
    tools.some(({ name }) => name === echo.name),
    JSON.stringify(tools)
  )
  assert.match(JSON.stringify(await client.callTool(echo)), /hello/)
  await client.close()
  return Promise.all(pages)
}

/** Returns the path of the file in which mcp-remote keeps its tokens. */
async function tokensFile(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true })
  const name = names.find((each) => each.endsWith('_tokens.json')) ?? assert.fail(names.join())
  return join(folder, name)
}

for (const registers of [true, false]) {
  const way = registers ? 'registers itself' : 'is described by a document'
  test(`IA-05 mcp-remote, which ${way}, connects by URL, calls a tool and renews its token`, async (t) => {
    const { url, host } = await start()
    const folder = await tempDir(t)
    const endpoint = `${url}${registers ? '/v0/groups/team/mcp' : '/mcp'}`
    const port = await freePort()
    const document = registers ? [] : [host.addDocument('/mcp-remote.json', 'http://localhost/oauth/callback')]
    const args = [endpoint, String(port), ...document.flatMap((id) => ['--client-metadata-url', id])]
    const pages = await useMcpRemote(t, folder, args)
    assert.equal(pages.length, 1)
    assert.match(pages[0]!.text, /Authorization successful/)
    assert.equal(host.requests.includes('/mcp-remote.json'), !registers)

    const file = await tokensFile(folder)
    const readTokens = async () => JSON.parse(await readFile(file, 'utf8')) as Record<string, string>
    const before = await readTokens()
    assert.equal(decodeJwt(before['access_token']!).aud, endpoint)
    // as the gateway would answer to an expired one
    await writeFile(file, JSON.stringify({ ...before, access_token: 'expired' }))
    assert.deepEqual(await useMcpRemote(t, folder, args), [], 'nobody is asked again')
    const after = await readTokens()
    assert.equal(decodeJwt(after['access_token']!).aud, endpoint)
    assert.notEqual(after['refresh_token'], before['refresh_token'])
  })

  test(`IA-05 the inspector, which ${way}, connects by URL and calls a tool`, async (t) => {
    const { url, host } = await start()
    const folder = await tempDir(t)
    const endpoint = `${url}/mcp`
    const launcher = toolPath('@modelcontextprotocol/inspector/clients/launcher/build/index.js')
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`
    const document = registers ? [] : [host.addDocument('/inspector.json', 'http://127.0.0.1/oauth/callback')]
    const inspect = async (...more: string[]) => {
      const call = ['--method', 'tools/call', '--tool-name', echo.name, '--tool-arg', 'text=hello']
      const args = [launcher, '--cli', endpoint, '--transport', 'http', ...call, ...more]
      const own = { ...env, HOME: folder, MCP_INSPECTOR_SECRET_STORE: 'file' }
      const inspector = run(t, process.execPath, args, { env: own, cwd: folder })
      const pages = letInFromOutput(inspector.child.stderr!)
      assert.equal(await inspector.exited, 0, inspector.output())
      assert.match(inspector.output(), /hello/)
      return Promise.all(pages)
    }
    const pages = await inspect('--callback-url', callback, ...document.flatMap((id) => ['--client-metadata-url', id]))
    assert.equal(pages.length, 1)
    assert.match(pages[0]!.text, /OAuth complete/)
    assert.equal(host.requests.includes('/inspector.json'), !registers)
    assert.deepEqual(await inspect('--stored-auth-only'), [], 'nobody is asked again')
  })
}
