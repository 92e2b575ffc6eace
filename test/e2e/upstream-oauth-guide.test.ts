import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startAuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { startProtected } from '../fixtures/oauth/protected.ts'
import { addCleanup } from '../store.ts'
import { cleanEnv, startGateway } from './harness.ts'

const run = promisify(execFile)
const guide = readFileSync(fileURLToPath(new URL('../../docs/how-to/upstream-oauth.md', import.meta.url)), 'utf8')
const steps = [...guide.matchAll(/^```sh\n(.*?)^```/gms)].map((match) => match[1]!)

test('the steps of the guide to OAuth work as they are written', async (t) => {
  const as = await startAuthorizationServer(null, { refresh: false })
  addCleanup(t, as.close)
  const upstream = await startProtected(null, as)
  addCleanup(t, upstream.close)
  const gateway = await startGateway(t)
  const follow = async (step: string, env: Record<string, string> = {}) => {
    const text = step.replace('https://mcp.example.com/mcp', upstream.url)
    const { stdout } = await run('sh', ['-c', text], { env: { ...cleanEnv(), TOWPATH_URL: gateway.url, ...env } })
    // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
    return JSON.parse(stdout) as any
  }
  assert.equal(steps.length, 3)
  const [register, complete, again] = steps as [string, string, string]
  const signIn = async (first: string) => {
    const { session_id, authorization_url } = (await follow(first)).authorization_required
    const { searchParams } = await as.agree(authorization_url)
    const [CODE, STATE] = [searchParams.get('code')!, searchParams.get('state')!]
    assert.equal((await follow(complete, { SESSION: session_id, CODE, STATE })).name, 'issues')
    return gateway.post('/api/v0/tools/invoke', { name: 'issues__echo' })
  }
  assert.equal((await signIn(register)).status, 200)
  assert.equal((await follow(again)).name, 'issues')
  as.revoke()
  const ended = await gateway.post('/api/v0/tools/invoke', { name: 'issues__echo' })
  assert.match(ended.body.error, /the authorization has ended \(.*\): sign in again$/)
  assert.equal((await signIn(again)).status, 200)
})
