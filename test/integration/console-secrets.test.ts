import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test, type TestContext } from 'node:test'
import { stdioServer } from '../app.ts'
import { ADMIN } from '../fixtures/identity-provider/gateway.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { routesBelow, startConsole, type Console, type ViewerRole } from './console-helpers.ts'

/** Values that only administrators may read, or nobody. */
const secrets = {
  env: 'SENT-env-value-1f2e',
  argument: 'SENT-command-argument-3c4d',
  bearer: 'SENT-bearer-token-5b6a',
  header: 'SENT-header-value-7f8e',
  query: 'SENT-query-value-9d0c',
  client: 'SENT-client-secret-1a2b',
  stderr: 'SENT-stderr-line-3e4f',
  called: 'SENT-call-argument-5c6d'
}

/** Adds a server of a program that answers until a file exists, and then writes its environment to stderr. */
async function addProgram(t: TestContext, { gateway }: Console): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'towpath-console-'))
  addCleanup(t, () => rmSync(folder, { recursive: true }))
  const [good] = stdioServer('files').args as [string]
  const isBroken = JSON.stringify(join(folder, 'broken'))
  const program = join(folder, 'program.mjs')
  const lines = [
    `import { existsSync } from 'node:fs'`,
    `if (existsSync(${isBroken})) {`,
    `  process.stderr.write(\`${secrets.stderr} \${process.env.API_KEY}\\n\`)`,
    `  process.exit(1)`,
    `}`,
    `await import(${JSON.stringify(pathToFileURL(good).href)})`
  ]
  writeFileSync(program, lines.join('\n'))
  const made = await gateway.api('POST', '/servers', {
    name: 'files',
    transport: 'stdio',
    command: process.execPath,
    args: [program, '--token', secrets.argument],
    env: { API_KEY: secrets.env }
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const called = await gateway.api('POST', '/tools/invoke', { name: 'files__echo', text: secrets.called })
  assert.equal(called.status, 200, JSON.stringify(called.body))
  writeFileSync(join(folder, 'broken'), '')
  await until('the program fails', async () => {
    await gateway.api('POST', '/servers/files/refresh')
    await gateway.api('POST', '/tools/invoke', { name: 'files__echo', text: secrets.called })
    const { body } = await gateway.api('GET', '/calls?failed=true&server=files')
    return body.calls.length > 0
  })
}

/** Adds a server with secrets in its URL and headers. */
async function addRemote(t: TestContext, { gateway }: Console): Promise<void> {
  const { url } = await startRecorder(t, { name: 'remote', modern: true })
  const made = await gateway.api('POST', '/servers', {
    name: 'remote',
    transport: 'streamable_http',
    url: `${url}?api_key=${secrets.query}`,
    bearer_token: secrets.bearer,
    headers: { 'x-api-key': secrets.header },
    oauth_client_id: 'an-id',
    oauth_client_secret: secrets.client
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
}

/** Returns the answers of all GET routes of the console to a role, by path. */
async function dump({ gateway, send }: Console, role: ViewerRole): Promise<Map<string, string>> {
  const answers = new Map<string, string>()
  const read = async (path: string) => {
    const answer = await send(role, 'GET', `/api/console${path}`)
    const text = await answer.text()
    answers.set(path, text)
    // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
    return answer.ok ? (JSON.parse(text) as any) : undefined
  }
  const lists = routesBelow(gateway.app, '/api/console').filter((route) => route.startsWith('GET '))
  // the stream of events names kinds of changes only, and does not end
  const paths = lists.map((route) => route.slice('GET '.length)).filter((path) => path !== '/events')
  for (const path of paths.filter((each) => !each.includes(':'))) await read(path)
  const ids: Readonly<Record<string, readonly string[]>> = {
    '/servers/:name': ['k8s', 'files', 'remote'],
    '/tool-groups/:name': ['ops'],
    '/calls/:id': (await read('/calls')).calls.map(({ id }: { id: string }) => id),
    '/oauth/session/:id': ['none']
  }
  for (const path of paths.filter((each) => each.includes(':'))) {
    assert.ok(ids[path], `${path} is a new route: name an object of it here`)
    for (const id of ids[path]) await read(path.replace(/:\w+/, id))
  }
  return answers
}

test('CO-10 no secret, token, environment value or argument is in any answer to users and auditors', async (t) => {
  const site = await startConsole(t, { env: { TOWPATH_CALL_LOG_CONTENTS: 'true' } })
  const { gateway, send, cookieOf } = site
  const policy = await gateway.api('POST', '/policies', {
    name: 'everything',
    effect: 'allow',
    subjects: { users: ['a-user'] },
    targets: { servers: ['files', 'remote'] }
  })
  assert.equal(policy.status, 201, JSON.stringify(policy.body))
  await addRemote(t, site)
  await addProgram(t, site)
  const made = await gateway.api('POST', '/tool-groups', { name: 'ops', included_servers: ['files', 'k8s'] })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  for (const name of ['k8s__echo', 'remote__fail', 'remote__none']) {
    await (await send('user', 'POST', '/api/v0/tools/invoke', { body: { name, text: secrets.called } })).text()
  }
  await until('the calls are logged', async () => {
    const { body } = await gateway.api('GET', '/calls')
    return body.calls.length >= 4
  })

  // what administrators read proves that the values are there to be found
  const told = [...(await dump(site, 'admin')).values()].join('\n')
  for (const name of ['called', 'stderr'] as const) assert.ok(told.includes(secrets[name]), name)
  const cookies = (['user', 'auditor', 'admin'] as const).map((role) => cookieOf(role).split('=')[1]!)
  const hidden = [...Object.values(secrets), ADMIN, ...cookies]
  for (const role of ['user', 'auditor'] as const) {
    const answers = await dump(site, role)
    assert.ok(answers.size > 15, role)
    for (const [path, text] of answers) {
      for (const secret of hidden)
        assert.equal(text.includes(secret), false, `${secret} to ${role} at ${path}: ${text}`)
    }
  }
})
