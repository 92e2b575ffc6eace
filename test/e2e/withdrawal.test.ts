import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { until } from '../until.ts'
import { addUpstream, skip, startEnterprise, startReplica, type Actor } from './enterprise.ts'
import { cellsOf } from '../matrix.ts'

const slow = { name: 'alpha__slow', arguments: { ms: 60_000 } }

/** Starts a call by every interface at one replica: a client's at an endpoint, and a user's over REST. */
async function startCalls(at: Actor, user: Actor, group: string | undefined) {
  const path = group ? `/v0/groups/${group}/mcp` : '/mcp'
  const session = await at.initialize(path)
  const mcp = [
    at.modern('tools/call', slow, {}, path),
    at.legacy('tools/call', slow, {}, path),
    at.legacy('tools/call', slow, session, path)
  ]
  const rest = group ? [] : [user.post('/api/v0/tools/invoke', { name: 'alpha__slow', ms: 60_000 })]
  return { mcp, rest }
}

interface Case {
  readonly withdraw: (admin: Actor) => Promise<{ status: number }>
  readonly group?: string
  /** True if calls of users, who may call every enabled tool, end too. */
  readonly endsRest: boolean
}
const cases: Readonly<Record<string, Case>> = {
  'the allow list of the client is narrowed': {
    withdraw: (admin) => admin.put('/api/v0/clients/cli-all', { allowed_servers: ['beta'] }),
    endsRest: false
  },
  'the server is disabled': { withdraw: (admin) => admin.post('/api/v0/servers/alpha/disable'), endsRest: true },
  'the tool is disabled': {
    withdraw: (admin) => admin.post('/api/v0/tools/disable?entity=alpha__slow'),
    endsRest: true
  },
  'the server leaves the group': {
    withdraw: (admin) => admin.put('/api/v0/tool-groups/g1', { included_servers: ['beta'] }),
    group: 'g1',
    endsRest: false
  }
}

async function start(t: TestContext, mode: string) {
  const one = await startEnterprise(t)
  const alpha = await addUpstream(t, one, 'alpha', {}, { session_mode: mode })
  await addUpstream(t, one, 'beta')
  await one.admin.post('/api/v0/tool-groups', { name: 'g1', included_servers: ['alpha', 'beta'] })
  return { one, two: await startReplica(t, one), alpha }
}

for (const [mode, [what, { withdraw, group, endsRest }]] of cellsOf(['stateless', 'stateful'], Object.entries(cases))) {
  test(`SR-L15 calls under way end on every replica when ${what} (${mode})`, { skip }, async (t) => {
    const { one, two, alpha } = await start(t, mode)
    const under = await Promise.all([one, two].map(({ cliAll, user }) => startCalls(cliAll, user, group)))
    const mcp = under.flatMap((each) => each.mcp)
    const rest = under.flatMap((each) => each.rest)
    const others = group ? [one.cliAll.modern('tools/call', slow)] : []
    // the end of the test aborts the remaining calls
    for (const each of [...rest, ...others]) each.catch(() => undefined)
    const count = mcp.length + rest.length + others.length
    await until('the calls are in progress', () => alpha.calls('tools/call').length === count)

    assert.ok((await withdraw(one.admin)).status < 300)
    for (const { body, text } of await Promise.all(mcp))
      assert.match(String(body?.error?.message), /no longer allowed/, text)
    if (endsRest) for (const { status } of await Promise.all(rest)) assert.equal(status, 409)
    const ended = mcp.length + (endsRest ? rest.length : 0)
    await until('the upstream is told', () => alpha.calls('notifications/cancelled').length >= ended)
    assert.equal(alpha.calls('notifications/cancelled').length, ended)
  })
}
