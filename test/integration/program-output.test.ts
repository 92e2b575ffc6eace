import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { CallEntry } from '../../src/schemas/call.ts'
import { tempDir } from '../store.ts'
import { until } from '../until.ts'
import { legacyBody, modernBody, modernHeaders, openSession, readAnswer, startMcp } from './mcp-helpers.ts'

const token = 'twp_an-administrator-of-tests'
const enterprise = {
  SERVER_MODE: 'enterprise',
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  TOWPATH_ADMIN_TOKEN: token
}
const dies = fileURLToPath(new URL('../fixtures/stdio/dies.mjs', import.meta.url))

/** Starts a gateway with a server that dies during a call, and one that no longer starts. Both write why on stderr. */
async function start(t: TestContext, env: Record<string, string>) {
  const mcp = await startMcp(t, env)
  const admin = env === enterprise ? { authorization: `Bearer ${token}` } : {}
  const rest = async (path: string, payload: object, headers: object = admin) => {
    const url = new URL(path, mcp.url)
    const all = { 'content-type': 'application/json', ...headers }
    const answer = await fetch(url, { method: 'POST', headers: all, body: JSON.stringify(payload) })
    const text = await answer.text()
    return { status: answer.status, text, body: JSON.parse(text) as Record<string, string> }
  }
  const broken = join(await tempDir(t), 'server.mjs')
  await writeFile(broken, `import ${JSON.stringify(dies)}\n`)
  for (const [name, file] of [
    ['dying', dies],
    ['broken', broken]
  ]) {
    const server = { name, transport: 'stdio', command: process.execPath, args: [file] }
    assert.equal((await rest('/api/v0/servers', server)).status, 201)
  }
  await writeFile(broken, `console.error('FATAL: authentication failed, about to give up')\nprocess.exit(3)\n`)
  const tokenOf = async (path: string, payload: object) => {
    const { body } = await rest(path, payload)
    return { authorization: `Bearer ${body.access_token}` }
  }
  const brokenServer = { transport: 'stdio', command: process.execPath, args: [broken] }
  return { ...mcp, admin, rest, tokenOf, brokenServer }
}

type Gateway = Awaited<ReturnType<typeof start>>

/** Calls a tool over MCP in both eras, on each server. */
async function callOverMcp({ url }: Gateway, headers: Record<string, string>) {
  const post = async (body: string, more: Record<string, string>) => {
    const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }
    return readAnswer(await fetch(url, { method: 'POST', headers: { ...all, ...more }, body }))
  }
  const session = await openSession((params) => post(legacyBody('initialize', params), {}))
  const calls = ['dying__die', 'broken__die'].map((name) => ({ name, arguments: {} }))
  const answers = []
  for (const params of calls) {
    answers.push(await post(modernBody('tools/call', params), modernHeaders('tools/call', params.name)))
    answers.push(await post(legacyBody('tools/call', params), session))
  }
  return answers
}

test('callers without administration get code, cause and next step of a failure, and nothing of stderr', async (t) => {
  const gateway = await start(t, enterprise)
  const client = await gateway.tokenOf('/api/v0/clients', { name: 'c', allowed_servers: ['*'] })
  const user = await gateway.tokenOf('/api/v0/users', { name: 'u' })
  for (const { text, body } of await callOverMcp(gateway, client)) {
    assert.doesNotMatch(text, /about to|FATAL/)
    assert.match(body.error!.message, /^the process exited with code [13]$/)
    assert.equal(body.error!.data!.reason, 'crashed')
    if (body.error!.data!.server !== 'broken') continue
    assert.equal(body.error!.data!.cause, 'credentials_rejected')
    assert.match(String(body.error!.data!.next_step), /Check the key/)
  }
  for (const [name, message] of [
    ['dying__die', 'server "dying": the process exited with code 1'],
    ['broken__die', 'server "broken": the process exited with code 3']
  ]) {
    const { text, body } = await gateway.rest('/api/v0/tools/invoke', { name }, user)
    assert.equal(body.error, message)
    assert.doesNotMatch(text, /about to|FATAL/)
    const own = await gateway.rest('/api/v0/tools/invoke', { name })
    assert.match(own.body.error!, /exited with code \d: .*about to/)
    assert.match(String(own.body.stderr), /about to/)
  }
  const calls = await until('the calls to be logged', async () => {
    const answer = await fetch(new URL('/api/v0/calls?outcome=failed', gateway.url), { headers: gateway.admin })
    const { calls } = (await answer.json()) as { calls: CallEntry[] }
    return calls.length >= 8 && calls
  })
  assert.ok(calls)
  for (const { error } of calls)
    assert.match(error!, /exited with code \d: [^:]*(FATAL: authentication failed, )?about to/)
  const auditor = await gateway.tokenOf('/api/v0/users', { name: 'reader', role: 'auditor' })
  const saved = await gateway.rest('/api/v0/servers?save=disabled', { ...gateway.brokenServer, name: 'late' })
  assert.equal(saved.status, 201, saved.text)
  const paths = ['/api/v0/calls', `/api/v0/calls/${calls[0]!.id}`, '/api/v0/audit', '/api/v0/servers?include=health']
  for (const path of paths) {
    const read = async (headers: object) => {
      const answer = await fetch(new URL(path, gateway.url), { headers: { ...headers } })
      assert.equal(answer.status, 200, path)
      return answer.text()
    }
    assert.match(await read(gateway.admin), /exited with code \d: [^"]*about to/, path)
    const text = await read(auditor)
    assert.match(text, /exited with code \d/, path)
    assert.doesNotMatch(text, /about to|FATAL/, path)
  }
})

test('in development mode every caller gets the line of stderr that says best why a program ended', async (t) => {
  const gateway = await start(t, {})
  for (const { body } of await callOverMcp(gateway, {}))
    assert.match(body.error!.message, /exited with code \d: .*about to/)
  const { body } = await gateway.rest('/api/v0/tools/invoke', { name: 'dying__die' })
  assert.equal(body.error, 'server "dying": the process exited with code 1: about to die')
})
