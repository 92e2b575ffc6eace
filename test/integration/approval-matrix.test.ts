import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { addCleanup, tempDir } from '../store.ts'
import { until } from '../until.ts'
import { withTasks } from './mcp-helpers.ts'
import { as, startPolicyGateway, type PolicyGateway } from './policy-helpers.ts'

const HOLD_MS = 1_500
const stdioServer = fileURLToPath(new URL('../fixtures/stdio/good.mjs', import.meta.url))

/** Who answers, and how: the person at the client, or an approver in time or after the hold. */
const plans = ['confirm yes', 'confirm no', 'approve yes', 'approve no', 'approve late'] as const
type Plan = (typeof plans)[number]

interface Result {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
}

/** A kind of MCP client. */
interface Kind {
  readonly name: string
  /** True if its person can be asked with a form. */
  readonly hasForms: boolean
  /** Makes a call; the person answers a form with yes or no. */
  call(name: string, text: string, isYes: boolean): Promise<Result>
}

interface Upstream {
  readonly name: string
  /** Returns how often the server was called with this text. */
  count(text: string): number
}

const records = (calls: readonly { readonly params?: Record<string, unknown> }[], text: string) =>
  calls.filter(({ params }) => JSON.stringify(params).includes(text)).length

/** Starts a server of each transport. */
async function startUpstreams(t: TestContext, { rest }: PolicyGateway): Promise<Upstream[]> {
  const http = await startRecorder(null, { name: 'http', modern: true })
  const sse = await startSse(null)
  for (const { close } of [http, sse]) addCleanup(t, close)
  const record = join(await tempDir(t), 'record')
  const env = { RECORD: record }
  const servers = [
    { name: 'http', transport: 'streamable_http', url: http.url },
    { name: 'sse', transport: 'sse', url: sse.url },
    { name: 'stdio', transport: 'stdio', command: process.execPath, args: [stdioServer], env }
  ]
  for (const server of servers) assert.equal((await rest('POST', '/servers', server)).status, 201)
  const lines = () => (existsSync(record) ? readFileSync(record, 'utf8').split('\n') : [])
  return [
    { name: 'http', count: (text) => records(http.calls('tools/call'), text) },
    { name: 'sse', count: (text) => records(sse.calls('tools/call'), text) },
    {
      name: 'stdio',
      count: (text) => lines().filter((line) => line.includes('tools/call') && line.includes(text)).length
    }
  ]
}

async function openClient(t: TestContext, transport: Transport, hasForms: boolean) {
  const client = new Client({ name: 'matrix', version: '1' }, { capabilities: hasForms ? { elicitation: {} } : {} })
  let isYes = false
  if (hasForms)
    client.setRequestHandler(ElicitRequestSchema, async () =>
      isYes ? { action: 'accept', content: { confirm: true } } : { action: 'decline' }
    )
  await client.connect(transport)
  addCleanup(t, () => client.close())
  return async (name: string, text: string, answer: boolean) => {
    isYes = answer
    return (await client.callTool({ name, arguments: { text } })) as unknown as Result
  }
}

/** Returns a call of a stateless client that can show forms. */
function callWithForms({ mcp, worker }: PolicyGateway): Kind['call'] {
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
  return async (name, text, isYes) => {
    const params = { name, arguments: { text }, _meta }
    const first = (await mcp.modern('tools/call', params, as(worker))).body.result
    if (first?.resultType !== 'input_required') return first
    const answer = isYes ? { action: 'accept', content: { confirm: true } } : { action: 'cancel' }
    const more = { requestState: first.requestState, inputResponses: { 'towpath-confirm': answer } }
    return (await mcp.modern('tools/call', { ...params, ...more }, as(worker))).body.result
  }
}

/** Returns a call of a stateless client that accepts tasks. */
function callAsTask({ mcp, worker }: PolicyGateway): Kind['call'] {
  return async (name, text) => {
    const created = (await mcp.modern('tools/call', { name, arguments: { text }, _meta: withTasks }, as(worker))).body
    if (created.result?.resultType !== 'task') return created.result
    const { taskId } = created.result
    const done = await until('the task has ended', async () => {
      const { result } = (await mcp.modern('tasks/get', { taskId, _meta: withTasks }, as(worker))).body
      return result.status === 'working' ? undefined : result
    })
    return done!.result as Result
  }
}

async function kindsOf(t: TestContext, gateway: PolicyGateway): Promise<Kind[]> {
  const { mcp, worker } = gateway
  const { origin } = new URL(mcp.url)
  const requestInit = { headers: as(worker) }
  const streamable = new StreamableHTTPClientTransport(new URL(mcp.url), { requestInit }) as Transport
  const eventSourceInit = {
    fetch: (url: string | URL | Request, init?: RequestInit) =>
      fetch(url, { ...init, headers: { ...as(worker), accept: 'text/event-stream' } })
  }
  const sse = new SSEClientTransport(new URL(`${origin}/sse`), { requestInit, eventSourceInit }) as Transport
  return [
    { name: 'session with forms', hasForms: true, call: await openClient(t, streamable, true) },
    { name: 'session without forms, HTTP+SSE', hasForms: false, call: await openClient(t, sse, false) },
    { name: 'stateless with forms', hasForms: true, call: callWithForms(gateway) },
    { name: 'stateless with tasks', hasForms: false, call: callAsTask(gateway) }
  ]
}

/** Decides on the only request that waits. */
async function decide({ rest }: PolicyGateway, text: string, isYes: boolean): Promise<void> {
  const entry = await until('the call waits', async () => {
    const { body } = await rest('GET', '/approvals?status=pending')
    return (body as { arguments: { text: string } }[]).find((each) => each.arguments.text === text)
  })
  const { id, fingerprint } = entry as unknown as { id: string; fingerprint: string }
  const { status } = await rest('POST', `/approvals/${id}/${isYes ? 'approve' : 'deny'}`, { fingerprint })
  assert.equal(status, 200)
}

/** Makes one call by its plan and returns how often the server saw it before the yes and at the end. */
async function runPlan(gateway: PolicyGateway, kind: Kind, upstream: Upstream, plan: Plan) {
  const text = `${plan} ${kind.name} ${upstream.name}`
  const isYes = !plan.endsWith('no')
  const isForm = plan.startsWith('confirm') && kind.hasForms
  const isTask = kind.name.endsWith('tasks')
  const call = () => kind.call(`${upstream.name}__echo`, text, isYes)
  if (isForm) return { before: upstream.count(text), result: await call() }
  const first = call()
  if (plan === 'approve late' && !isTask) assert.equal((await first).isError, true, text)
  const before = upstream.count(text)
  await decide(gateway, text, isYes)
  return { before, result: await (plan === 'approve late' && !isTask ? call() : first) }
}

test('no call reaches its server without a yes: four kinds of clients, three transports, each answer', async (t) => {
  const gateway = await startPolicyGateway(t)
  await gateway.rest('PUT', '/clients/worker', { allowed_servers: ['*'] })
  const upstreams = await startUpstreams(t, gateway)
  const kinds = await kindsOf(t, gateway)
  const seen: string[] = []
  for (const plan of plans) {
    const effect = plan.startsWith('confirm') ? 'confirm' : 'approve'
    await gateway.policy('ask', {
      effect,
      targets: { tools: ['echo'] },
      hold_ms: plan.endsWith('late') ? 50 : HOLD_MS * 20
    })
    for (const kind of kinds) {
      for (const upstream of upstreams) {
        const { before, result } = await runPlan(gateway, kind, upstream, plan)
        const text = `${plan} ${kind.name} ${upstream.name}`
        const isYes = !plan.endsWith('no')
        assert.deepEqual([text, before, result.isError ?? false], [text, 0, !isYes], JSON.stringify(result))
        assert.equal(upstream.count(text), isYes ? 1 : 0, text)
        seen.push(text)
      }
    }
  }
  assert.equal(seen.length, 60)
})
