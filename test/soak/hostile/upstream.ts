// A hostile MCP server over HTTP as a process of its own; sends its URL to its parent.
import { setTimeout as delay } from 'node:timers/promises'
import type { ServerResponse } from 'node:http'
import { openEvents, sendEvent, sendJson, startHttp, type Handler } from '../../fixtures/http/server.ts'

const streams = new Set<ServerResponse>()
let generation = 0

const text = 'd'.repeat(2_000)
const names = ['plain', 'huge', 'links', 'drip', 'storm']
/** Other names at each reading, and now and then text that is no JSON. */
const tools = () => {
  generation++
  const many = Array.from({ length: 300 }, (_, at) => ({
    name: `t${generation}-${at}`,
    description: text,
    inputSchema: { type: 'object' }
  }))
  return [...names.map((name) => ({ name, inputSchema: { type: 'object' } })), ...many]
}
const said = { content: [{ type: 'text', text: 'said' }] }
const link = (at: number) => ({
  type: 'resource_link',
  name: 'l',
  uri: `bad://${generation}-${at}/${'u'.repeat(1_000_000)}`
})

async function call(name: unknown, id: unknown, response: ServerResponse): Promise<void> {
  const done = (result: object) => sendJson(response, 200, { jsonrpc: '2.0', id, result })
  if (name === 'huge') return done({ content: [{ type: 'text', text: 'h'.repeat(8_000_000) }] })
  if (name === 'links') return done({ content: Array.from({ length: 8 }, (_, at) => link(at)) })
  if (name === 'plain') return done(said)
  openEvents(response)
  for (let at = 0; at < 200 && !response.destroyed; at++) {
    if (name === 'drip') {
      response.write(':')
      await delay(20)
      continue
    }
    sendEvent(response, {
      jsonrpc: '2.0',
      id: `p${at}`,
      method: 'sampling/createMessage',
      params: { messages: [], maxTokens: 1, x: text }
    })
    sendEvent(response, {
      jsonrpc: '2.0',
      id: at,
      method: 'elicitation/create',
      params: { mode: 'url', url: 'https://example.org', elicitationId: text + at }
    })
    sendEvent(response, {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: id, progress: at, message: text }
    })
  }
  sendEvent(response, { jsonrpc: '2.0', id, result: said })
  response.end()
}

const capabilities = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} }

const handle: Handler = ({ method: verb, message, path }, response) => {
  if (verb === 'GET') {
    openEvents(response)
    streams.add(response.on('close', () => streams.delete(response)))
    return
  }
  const { id, method, params } = message ?? {}
  if (id === undefined || method === undefined) return void response.writeHead(202).end()
  const done = (result: object, headers = {}) => sendJson(response, 200, { jsonrpc: '2.0', id, result }, headers)
  if (method === 'initialize') {
    const serverInfo = { name: 'bad', version: '1' }
    return done(
      { protocolVersion: '2025-11-25', capabilities, serverInfo, instructions: text },
      { 'mcp-session-id': `s${Math.random()}`, 'x-long': 'h'.repeat(8_000) }
    )
  }
  if (method === 'server/discover') return void response.writeHead(400).end(`no ${path}`)
  if (method === 'tools/list' && generation % 3 === 2) {
    generation++
    const body = JSON.stringify({ jsonrpc: '2.0', id, result: { tools: tools() } }).replace('ddd', '\\q')
    return void response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }
  if (method === 'tools/list') return done({ tools: tools() })
  if (method === 'tools/call') return void call(params?.name, id, response).catch(() => response.destroy())
  if (method === 'resources/list') return done({ resources: [{ uri: 'bad://note', name: 'n' }] })
  if (method === 'resources/templates/list')
    return done({ resourceTemplates: [{ uriTemplate: 'bad://{x}', name: 't' }] })
  return done({})
}

const { origin } = await startHttp(handle)
process.once('disconnect', () => process.exit())
process.send?.(`${origin}/mcp`)
for (;;) {
  for (const stream of streams) {
    for (const list of ['tools', 'resources'])
      sendEvent(stream, { jsonrpc: '2.0', method: `notifications/${list}/list_changed` })
    sendEvent(stream, { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: text } })
    sendEvent(stream, { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'bad://note' } })
  }
  await delay(50)
}
