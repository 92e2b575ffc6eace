/** A server of version 1 of the TypeScript SDK (npm `@modelcontextprotocol/sdk`), legacy era. */
import { appendFileSync, readFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import * as types from '@modelcontextprotocol/sdk/types.js'

const offer = JSON.parse(readFileSync(new URL('../offer.json', import.meta.url), 'utf8'))
const watched = 'interop://watched'
const answer = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] }
const servers = new Set()
const tools = [...offer.tools]

const said = (text, more = {}) => ({ content: [{ type: 'text', text }], ...more })
const note = (word, token) => appendFileSync(process.env.INTEROP_LEDGER, `${word} ${token}\n`)
const tell = (notify) => Promise.allSettled([...servers].map(notify))

/** The tools by name; the second argument is the SDK's handler context. */
const calls = {
  echo: ({ text }) => said(text),
  image: () => ({ content: [{ type: 'image', data: offer.image, mimeType: 'image/png' }] }),
  structured: ({ a, b }) => said(String(a + b), { structuredContent: { sum: a + b } }),
  fail: () => said('failed on purpose', { isError: true }),
  progress: async (_, { _meta, sendNotification }) => {
    const { progressToken } = _meta ?? {}
    for (let progress = 1; progress <= 4 && progressToken !== undefined; progress++) {
      await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: 4 } })
      await delay(30)
    }
    return said('done')
  },
  slow: async ({ token }, { signal }) => {
    note('started', token)
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, 60_000)
      signal.addEventListener('abort', () => {
        note('cancelled', token)
        clearTimeout(timer)
        resolve()
      })
    })
    return said('done')
  },
  log: async (_, { sendNotification }) => {
    for (const number of [1, 2])
      await sendNotification({ method: 'notifications/message', params: { level: 'info', data: `log-${number}` } })
    return said('logged')
  },
  // on the session's own stream
  sample: async ({ text }, _, server) => {
    const messages = [{ role: 'user', content: { type: 'text', text } }]
    const { content } = await server.createMessage({ messages, maxTokens: 10 })
    return said(`sampled: ${content.text}`)
  },
  // on the call's stream
  elicit: async ({ text }, { sendRequest }) => {
    const params = { message: text, requestedSchema: answer }
    const { action, content } = await sendRequest({ method: 'elicitation/create', params }, types.ElicitResultSchema)
    return said(`elicited: ${action} ${content?.answer}`)
  },
  roots: async (_, __, server) => {
    const { roots } = await server.listRoots()
    return said(`roots: ${roots.map(({ uri }) => uri).join(',')}`)
  },
  touch: async () => {
    await tell((server) => server.sendResourceUpdated({ uri: watched }))
    return said('touched')
  },
  grow: async () => {
    if (!tools.some(({ name }) => name === 'extra')) tools.push({ name: 'extra', inputSchema: { type: 'object' } })
    await tell((server) => server.sendToolListChanged())
    return said('grown')
  }
}

function readText(uri) {
  const text = uri.startsWith('interop://items/') ? `item ${uri.slice(16)}` : `${uri.slice(10)} text`
  return { contents: [{ uri, mimeType: 'text/plain', text }] }
}

function create() {
  const capabilities = {
    tools: { listChanged: true },
    prompts: {},
    resources: { subscribe: true },
    logging: {},
    completions: {}
  }
  const server = new Server({ name: 'interop-typescript-1', version: '1' }, { capabilities })
  const on = (schema, handle) => server.setRequestHandler(schema, handle)
  on(types.ListToolsRequestSchema, () => ({ tools }))
  on(types.CallToolRequestSchema, ({ params }, extra) => calls[params.name](params.arguments ?? {}, extra, server))
  on(types.ListPromptsRequestSchema, () => ({ prompts: offer.prompts }))
  on(types.GetPromptRequestSchema, ({ params }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Hello, ${params.arguments?.name}` } }]
  }))
  on(types.ListResourcesRequestSchema, () => ({ resources: offer.resources }))
  on(types.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: offer.templates }))
  on(types.ReadResourceRequestSchema, ({ params }) => readText(params.uri))
  on(types.SubscribeRequestSchema, () => ({}))
  on(types.UnsubscribeRequestSchema, () => ({}))
  on(types.CompleteRequestSchema, ({ params }) => ({
    completion: { values: offer.names.filter((name) => name.startsWith(params.argument.value)) }
  }))
  servers.add(server)
  server.onclose = () => servers.delete(server)
  return server
}

async function overHttp(sessions, request, response) {
  const known = sessions.get(request.headers['mcp-session-id'])
  if (known) return known.handleRequest(request, response)
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id)
  })
  await create().connect(transport)
  return transport.handleRequest(request, response)
}

async function overSse(sessions, request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  if (pathname !== '/sse') return sessions.get(searchParams.get('sessionId')).handlePostMessage(request, response)
  const transport = new SSEServerTransport('/message', response)
  sessions.set(transport.sessionId, transport)
  return create().connect(transport)
}

const { values } = parseArgs({ options: { transport: { type: 'string' }, port: { type: 'string' } } })
if (values.transport === 'stdio') await create().connect(new StdioServerTransport())
else {
  const serve = values.transport === 'sse' ? overSse : overHttp
  const sessions = new Map()
  createServer((request, response) => void serve(sessions, request, response)).listen(Number(values.port), '127.0.0.1')
}
