import assert from 'node:assert/strict'
import { test } from 'node:test'
import { legacyBody, modernBody, modernHeaders } from '../integration/mcp-helpers.ts'
import { until } from '../until.ts'
import { addUpstream, skip, startEnterprise, type Actor } from './enterprise.ts'

const ways: readonly (readonly [method: string, path: string, body?: string, headers?: Record<string, string>])[] = [
  ['POST', 'mcp', legacyBody('tools/list')],
  ['POST', 'mcp', modernBody('tools/list'), modernHeaders('tools/list')],
  ['POST', 'mcp', modernBody('server/discover'), modernHeaders('server/discover')],
  ['POST', 'mcp', 'no JSON'],
  ['GET', 'mcp'],
  ['DELETE', 'mcp'],
  ['PUT', 'mcp'],
  ['PATCH', 'mcp'],
  ['GET', 'sse'],
  ['POST', 'sse'],
  ['POST', 'message?sessionId=x', legacyBody('ping')],
  ['GET', 'message']
]

/** Returns the responses about a group: the status, and the text without the group's name. */
async function answers(url: string, { headers }: Actor, group: string): Promise<string[]> {
  const told: string[] = []
  for (const [method, path, body, more] of ways) {
    const stop = new AbortController()
    const init = { method, signal: stop.signal, headers: { 'content-type': 'application/json', ...headers, ...more } }
    const response = await fetch(`${url}/v0/groups/${group}/${path}`, body === undefined ? init : { ...init, body })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    const text = isStream
      ? 'a stream'
      : (await response.text()).replaceAll(group, 'NAME').replace(/"request_id":"[^"]*"/, '')
    stop.abort()
    told.push(`${method} ${path}: ${response.status} ${text}`)
  }
  return told
}

test(
  'SR-L10 a client is told the same of a group with nothing for it as of one that is not there',
  { skip },
  async (t) => {
    const gateway = await startEnterprise(t)
    const { admin, cliA, cliAll, cliNone } = gateway
    await addUpstream(t, gateway, 'alpha')
    await addUpstream(t, gateway, 'beta')
    const groups: Record<string, object> = {
      servers: { included_servers: ['beta'] },
      tools: { included_tools: ['beta__echo'] },
      empty: {},
      mine: { included_servers: ['beta'], included_tools: ['alpha__echo'] }
    }
    for (const [name, more] of Object.entries(groups)) {
      assert.equal((await admin.post('/api/v0/tool-groups', { name, ...more })).status, 201)
    }
    for (const actor of [cliA, cliNone]) {
      const unknown = await answers(gateway.url, actor, 'nowhere')
      for (const each of unknown) assert.match(each, / 404 /)
      for (const name of ['servers', 'tools', 'empty'])
        assert.deepEqual(await answers(gateway.url, actor, name), unknown)
    }
    const list = async (actor: Actor, group: string) => {
      const { status, body } = await actor.legacy('tools/list', {}, {}, `/v0/groups/${group}/mcp`)
      return [status, (body.result?.tools as unknown[] | undefined)?.length]
    }
    assert.deepEqual(await list(cliA, 'mine'), [200, 1])
    assert.deepEqual(await list(cliAll, 'tools'), [200, 1])
    assert.deepEqual(await list(cliAll, 'empty'), [200, 0])

    // the group keeps a disabled server
    assert.equal((await admin.post('/api/v0/servers/alpha/disable')).status, 200)
    assert.deepEqual(await list(cliA, 'mine'), [200, 0])
    assert.equal((await admin.put('/api/v0/clients/cli-a', { allowed_servers: ['gamma'] })).status, 200)
    await until('the group is gone for the client', async () => (await list(cliA, 'mine'))[0] === 404)
  }
)
