import type { TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { register } from '../app.ts'
import { startAppServer, type AppServer, type AppServerOptions } from '../fixtures/http/apps.ts'
import { addCleanup } from '../store.ts'
import { legacyBody, modernBody, modernHeaders, readAnswer, type Mcp, type RpcAnswer } from './mcp-helpers.ts'

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** One way to reach an endpoint of the gateway. */
export interface Route {
  readonly name: string
  request(method: string, params?: { name?: string; uri?: string; [member: string]: unknown }): Promise<RpcAnswer>
}

/** Registers an app server under the name in its options. */
export async function addApps(
  t: TestContext,
  { app }: Mcp,
  options: AppServerOptions,
  more: object = {}
): Promise<AppServer> {
  const server = await startAppServer(options)
  addCleanup(t, server.close)
  await register(app, { name: options.name, transport: 'streamable_http', url: server.url, ...more })
  return server
}

async function openSseRoute(t: TestContext, url: string, name: string): Promise<Route> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new SSEClientTransport(new URL(url)) as Transport)
  addCleanup(t, () => client.close())
  return {
    name,
    async request(method, params = {}) {
      try {
        return { result: await client.request({ method, params }, ResultSchema.loose()) }
      } catch (error) {
        if (error instanceof McpError) return { error: { code: error.code, message: error.message } }
        throw error
      }
    }
  }
}

/** Returns the routes to the global endpoint or to a group: both eras, and HTTP+SSE. */
export async function routesTo(t: TestContext, mcp: Mcp, group?: string): Promise<Route[]> {
  const place = group === undefined ? '' : `/v0/groups/${group}`
  const base = mcp.url.replace(/\/mcp$/, place)
  const post = async (body: string, headers: Record<string, string>) =>
    (await readAnswer(await fetch(`${base}/mcp`, { method: 'POST', headers: { ...json, ...headers }, body }))).body
  return [
    { name: `legacy ${place}`, request: (method, params) => post(legacyBody(method, params), {}) },
    {
      name: `modern ${place}`,
      request: (method, params = {}) =>
        post(modernBody(method, params), modernHeaders(method, params.name ?? params.uri))
    },
    await openSseRoute(t, `${base}/sse`, `sse ${place}`)
  ]
}

/** Reads a resource; returns the first content, or the code of the error. */
export async function readAt(
  route: Route,
  uri: string
): Promise<{ uri: string; text: string; _meta: unknown } | number> {
  const { result, error } = await route.request('resources/read', { uri })
  return error ? error.code : result.contents[0]
}

/** Returns the HTML of a resource, undefined if it is not found. */
export async function htmlAt(route: Route, uri: string): Promise<string | undefined> {
  const content = await readAt(route, uri)
  return typeof content === 'number' ? undefined : content.text
}
