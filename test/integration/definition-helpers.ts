import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Environment } from '../../src/config/config.ts'
import { startListed, type ListedTransport, type ListingServer, type ServerLists } from '../fixtures/listed/listed.ts'
import { startMcp, type Mcp } from './mcp-helpers.ts'

export const admin = 'administrator-token-of-these-tests'
export const as = (token: string) => ({ authorization: `Bearer ${token}` })

export const enterprise = {
  SERVER_MODE: 'enterprise',
  TOWPATH_ADMIN_TOKEN: admin,
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64')
}

export interface RestAnswer {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  readonly body: any
}

export const rest = async (
  app: FastifyInstance,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  payload?: object,
  token = admin
): Promise<RestAnswer> => {
  const { statusCode, body } = await app.inject({
    method,
    url: `/api/v0${path}`,
    headers: as(token),
    ...(payload && { payload })
  })
  return { status: statusCode, body: body === '' ? undefined : JSON.parse(body) }
}

/** One definition of an answer of `GET /definitions`. */
export interface HeldItem {
  readonly server: string
  readonly kind: string
  readonly name: string
  readonly state: string
  readonly since: string
  readonly fingerprint: string
  readonly pinned_fingerprint?: string
  readonly changes: readonly {
    readonly member: string
    readonly before: string | null
    readonly after: string | null
  }[]
  readonly warnings: readonly { readonly rule: string; readonly member: string }[]
  readonly origin?: readonly {
    readonly member: string
    readonly before: string | null
    readonly after: string | null
  }[]
}

export async function heldOf(app: FastifyInstance, query = 'state=held'): Promise<HeldItem[]> {
  const { status, body } = await rest(app, 'GET', `/definitions?${query}`)
  assert.equal(status, 200)
  return body.items as HeldItem[]
}

export const seen = (items: readonly HeldItem[]) => ({
  items: items.map(({ server, kind, name, fingerprint }) => ({ server, kind, name, fingerprint }))
})

export const tool = (name: string, description: string, more: object = {}) =>
  JSON.stringify({ name, description, inputSchema: { type: 'object' }, ...more })
export const prompt = (name: string, description: string) => JSON.stringify({ name, description })
export const resource = (uri: string, description: string) => JSON.stringify({ uri, name: 'n', description })
export const template = (uriTemplate: string, description: string) =>
  JSON.stringify({ uriTemplate, name: 'n', description })
export const skill = (name: string, description: string, digest = '0') => {
  const uri = `skill://x/${name}/SKILL.md`
  const resources = [{ uri, digest: `sha256:${digest.repeat(64)}`, size: 1 }]
  return JSON.stringify({ uri, frontmatter: { name, description }, resources })
}

export interface PinnedGateway {
  readonly mcp: Mcp
  readonly app: FastifyInstance
  readonly listed: ListingServer
  /** Headers of an MCP client that may use the server. */
  readonly client: Record<string, string>
  /** Replaces the lists of the server `s` and waits until the gateway has read them. */
  serve(offered: Partial<ServerLists>): Promise<void>
  /** Returns everything that an MCP client is told, of both eras and all lists, as one text. */
  told(): Promise<string>
}

const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'skills/list']

/** Starts a gateway with the server `s`; the mode is that of `env`. */
export async function startPinned(
  t: TestContext,
  offered: Partial<ServerLists>,
  env: Environment = { TOWPATH_DEFINITIONS: 'pin' },
  transport: ListedTransport = 'streamable_http'
): Promise<PinnedGateway> {
  const mcp = await startMcp(t, env)
  const { app } = mcp
  const listed = await startListed(t, transport, offered)
  const { status, body } = await rest(app, 'POST', '/servers', { name: 's', ...listed.registration })
  assert.equal(status, 201, JSON.stringify(body))
  const created = await rest(app, 'POST', '/clients', { name: 'agent', allowed_servers: ['s'] })
  const client = as(created.status === 201 ? (created.body.access_token as string) : '')
  return {
    mcp,
    app,
    listed,
    client,
    async serve(next) {
      listed.set(next)
      const answer = await rest(app, 'POST', '/servers/s/refresh')
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    },
    async told() {
      const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
      const texts = [
        (await mcp.legacy('initialize', initialize, client)).text,
        (await mcp.modern('server/discover', undefined, client)).text
      ]
      for (const method of lists) {
        texts.push((await mcp.legacy(method, undefined, client)).text)
        texts.push((await mcp.modern(method, undefined, client)).text)
      }
      for (const path of ['/tools', '/prompts', '/resources', '/resource_templates', '/skills', '/servers']) {
        texts.push(JSON.stringify((await rest(app, 'GET', path)).body))
      }
      return texts.join('\n')
    }
  }
}
