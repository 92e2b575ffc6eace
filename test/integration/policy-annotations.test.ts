import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../until.ts'
import { openSession, openStream } from './mcp-helpers.ts'
import { as, k8sTools, namesOf, startPolicyGateway, type PolicyGateway } from './policy-helpers.ts'

const readers = { effect: 'allow', targets: { servers: ['k8s'], annotations: { readOnly: true } } } as const

/** Registers the server `k8s` again, with or without trust in its annotations. */
async function register({ rest, k8s }: PolicyGateway, more: object) {
  const payload = { name: 'k8s', transport: 'streamable_http', url: k8s.url, ...more }
  const { status, body } = await rest('POST', '/servers?force=true', payload)
  assert.equal(status, 201, JSON.stringify(body))
  return body as { readonly trusted_annotations?: boolean }
}

/** Decides on a call of the MCP client `agent` without making it. */
async function decisionOn({ rest }: PolicyGateway, name: string): Promise<string> {
  const { status, body } = await rest('POST', '/policies/simulate', { client: 'agent', kind: 'tool', name })
  assert.equal(status, 200, JSON.stringify(body))
  return [body.decision, body.hidden_by ?? body.policy].join(' ')
}

test('an allow by annotations shows nothing of a server until an administrator trusts its annotations', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, rest, policy, agent } = gateway
  const tools = async () => namesOf((await mcp.modern('tools/list', {}, as(agent))).body.result.tools)
  const call = (name: string) => mcp.modern('tools/call', { name, arguments: {} }, as(agent))
  await policy('readers', readers)
  assert.deepEqual(await tools(), [])
  assert.equal((await call('k8s__get_pods')).body.error?.message, 'Unknown tool: k8s__get_pods')
  assert.equal(await decisionOn(gateway, 'k8s__get_pods'), 'deny default')

  assert.equal((await register(gateway, { trusted_annotations: true })).trusted_annotations, true)
  assert.equal((await rest('GET', '/servers/k8s')).body.trusted_annotations, true)
  assert.deepEqual(await tools(), ['k8s__get_pods'])
  assert.equal((await call('k8s__get_pods')).body.error, undefined)
  assert.equal((await call('k8s__delete_pod')).body.error?.message, 'Unknown tool: k8s__delete_pod')
  assert.equal(await decisionOn(gateway, 'k8s__get_pods'), 'allow readers')
  const { body: listed } = await rest('GET', '/policies/effective?client=agent')
  const allowed = (listed as { decision: string; name: string }[]).filter(({ decision }) => decision === 'allow')
  assert.deepEqual(namesOf(allowed), ['k8s__get_pods'])

  assert.equal((await register(gateway, { trusted_annotations: false })).trusted_annotations, undefined)
  assert.deepEqual(await tools(), [])
  const { entries } = (await rest('GET', '/audit?target=k8s')).body
  const changes = (entries as { changed?: readonly string[]; before: object; after: object }[])
    .filter(({ changed }) => changed?.includes('trusted_annotations'))
    .map(({ before, after }) => [before, after])
  assert.deepEqual(changes, [
    [{ trusted_annotations: true }, {}],
    [{}, { trusted_annotations: true }]
  ])
})

test('a trusted server that changes an annotation changes what is allowed with the next read of its lists', async (t) => {
  const gateway = await startPolicyGateway(t, { TOWPATH_DEFINITIONS: 'follow' })
  const { mcp, rest, policy, agent, k8s } = gateway
  await policy('readers', readers)
  await register(gateway, { trusted_annotations: true })
  const call = (name: string) => mcp.modern('tools/call', { name, arguments: {} }, as(agent))
  const session = await openSession((params) => mcp.legacy('initialize', params, as(agent)))
  const headers = { accept: 'text/event-stream', ...as(agent), ...session }
  const stream = await openStream(t, mcp.url, { headers })
  k8s.setExtraTools([
    { ...k8sTools[0], annotations: { readOnlyHint: false } },
    { ...k8sTools[1], annotations: { readOnlyHint: true } }
  ])
  assert.equal((await rest('POST', '/servers/k8s/refresh')).status, 200)
  assert.equal((await call('k8s__get_pods')).body.error?.message, 'Unknown tool: k8s__get_pods')
  assert.equal((await call('k8s__restart_pod')).body.error, undefined)
  const methods = () => stream.messages.map((each) => (each as { method?: string }).method)
  await until('the client hears of it', () => methods().includes('notifications/tools/list_changed'))
})
