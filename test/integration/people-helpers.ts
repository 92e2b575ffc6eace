import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { listTools, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { both, modernBody, modernHeaders } from './mcp-messages.ts'
import { k8sTools } from './policy-helpers.ts'

interface CallAnswer {
  readonly error?: { readonly code: number; readonly message: string; readonly data?: any }
  readonly result?: { readonly isError?: boolean; readonly content: unknown; readonly _meta?: Record<string, unknown> }
}

/** A gateway where people of a provider sign in, with the server `k8s`. */
export async function startPeopleGateway(t: TestContext) {
  const gateway = await startSignInGateway(t)
  const { api, url } = gateway
  const recorder = await startRecorder(t, { name: 'k8s', modern: true, extraTools: k8sTools })
  const made = await api('POST', '/servers', { name: 'k8s', transport: 'streamable_http', url: recorder.url })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const policy = async (name: string, rule: object) => {
    const created = await api('POST', '/policies', { name, ...rule })
    const { status, body } = created.status === 409 ? await api('PUT', `/policies/${name}`, rule) : created
    assert.ok([200, 201].includes(status), JSON.stringify(body))
  }
  const toolsOf = async (token: string, path = '/mcp') => {
    const answer = await listTools(gateway, token, path)
    assert.equal(answer.status, 200)
    const { result } = (await answer.json()) as { result: { tools: { name: string }[] } }
    return result.tools.map(({ name }) => name.replace(/^.*__/, '')).toSorted()
  }
  /** Posts a message to an MCP endpoint. */
  const post = (token: string, path: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: both, authorization: `Bearer ${token}`, ...headers },
      body
    })
  const call = async (token: string, name: string, args: object = {}) => {
    const params = { name: `k8s__${name}`, arguments: args }
    const headers = modernHeaders('tools/call', params.name)
    const answer = await post(token, '/mcp', modernBody('tools/call', params), headers)
    return (await answer.json()) as CallAnswer
  }
  return { ...gateway, gateway, policy, toolsOf, post, call, recorder }
}
