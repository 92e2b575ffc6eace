import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Environment } from '../../src/config/config.ts'
import { createRecorder, startRecorder, type Recorder } from '../fixtures/http/recorder.ts'
import { sendJson, startHttp, type Handler } from '../fixtures/http/server.ts'
import { addCleanup } from '../store.ts'
import { checkDocumented } from '../documented.ts'
import { startMcp, type Mcp } from './mcp-helpers.ts'

export const admin = 'administrator-token-of-these-tests'

export const as = (token: string) => ({ authorization: `Bearer ${token}` })

/** A gateway in enterprise mode with the servers `k8s` and `crm`, the user `alice` and the MCP client `agent`. */
export interface PolicyGateway {
  readonly app: FastifyInstance
  readonly mcp: Mcp
  readonly k8s: Recorder
  readonly crm: Recorder
  readonly alice: string
  /** May use no server by its allow list. */
  readonly agent: string
  /** May use both servers by its allow list. */
  readonly worker: string
  /** Sends a request over REST, as the administrator unless a token is given. */
  rest(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object, token?: string): Promise<RestAnswer>
  /** Creates or replaces a policy. */
  policy(name: string, rule: object): Promise<void>
}

export interface RestAnswer {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  readonly body: any
}

const tool = (name: string, annotations?: object) => ({
  name,
  inputSchema: { type: 'object' },
  ...(annotations && { annotations })
})

export const k8sTools = [tool('get_pods', { readOnlyHint: true }), tool('restart_pod'), tool('delete_pod')]

export async function startPolicyGateway(t: TestContext, env: Environment = {}): Promise<PolicyGateway> {
  const mcp = await startMcp(t, {
    SERVER_MODE: 'enterprise',
    TOWPATH_ADMIN_TOKEN: admin,
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    ...env
  })
  const base = mcp.url.slice(0, -'/mcp'.length)
  const rest: PolicyGateway['rest'] = async (method, path, payload, token = admin) => {
    const headers = { ...as(token), ...(payload && { 'content-type': 'application/json' }) }
    const body = payload && { body: JSON.stringify(payload) }
    const answer = await fetch(`${base}/api/v0${path}`, { method, headers, ...body })
    checkDocumented(method, `/api/v0${path}`, answer.status)
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const create = async (path: string, payload: object) => {
    const { status, body } = await rest('POST', path, payload)
    assert.equal(status, 201, JSON.stringify(body))
    return body as { access_token: string }
  }
  const recorders: Awaited<ReturnType<typeof startRecorder>>[] = []
  // one after the other: the server that is registered first keeps the URIs that both have
  for (const name of ['k8s', 'crm']) {
    const recorder = await startRecorder(null, { name, extraTools: name === 'k8s' ? k8sTools : [] })
    addCleanup(t, recorder.close)
    await create('/servers', { name, transport: 'streamable_http', url: recorder.url })
    recorders.push(recorder)
  }
  const client = async (name: string, allowed_servers: readonly string[]) =>
    (await create('/clients', { name, allowed_servers })).access_token
  return {
    app: mcp.app,
    mcp,
    k8s: recorders[0]!,
    crm: recorders[1]!,
    alice: (await create('/users', { name: 'alice' })).access_token,
    agent: await client('agent', []),
    worker: await client('worker', ['k8s', 'crm']),
    rest,
    async policy(name, rule) {
      const created = await rest('POST', '/policies', { name, ...rule })
      const { status, body } = created.status === 409 ? await rest('PUT', `/policies/${name}`, rule) : created
      assert.ok(status === 201 || status === 200, JSON.stringify(body))
    }
  }
}

export const namesOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)

/** Starts a server that lists these URIs and answers every read with its URI; returns its address. */
export async function startFiles(t: TestContext, uris: readonly string[], template: string) {
  const recorder = createRecorder({ name: 'files', completes: true, tells: true })
  const handle: Handler = (request, response) => {
    const { message } = request
    const answer = (result: object) => sendJson(response, 200, { jsonrpc: '2.0', id: message!.id, result })
    if (message?.method === 'resources/list') return answer({ resources: uris.map((uri) => ({ uri, name: uri })) })
    if (message?.method === 'resources/templates/list')
      return answer({ resourceTemplates: [{ uriTemplate: template, name: 'files' }] })
    if (message?.method === 'resources/read') {
      const { uri } = message.params!
      return answer({ contents: [{ uri, text: `contents of ${String(uri)}` }] })
    }
    recorder.handle(request, response)
  }
  const http = await startHttp(handle)
  addCleanup(t, http.close)
  return { url: `${http.origin}/mcp`, http, announce: recorder.announce }
}
