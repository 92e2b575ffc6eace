import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { sendJson, sendResult, startUpstream, textResult, type Message, type Upstream } from '../e2e/upstream.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const node = {
  type: 'object',
  properties: { label: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
  required: ['label']
}

/** A schema with the features that generated forms often lack. */
const orderSchema = {
  type: 'object',
  allOf: [{ properties: { id: { type: 'integer', minimum: 1 } }, required: ['id'] }, { $ref: '#/$defs/named' }],
  properties: {
    body: { type: 'string', description: 'What it is about' },
    labels: { type: 'array', items: { type: 'string' } },
    urgent: { type: 'boolean' },
    size: { enum: ['small', 'large'] },
    limit: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    source: {
      oneOf: [
        { title: 'File', type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
        { title: 'Link', type: 'object', properties: { url: { type: 'string' } }, required: ['url'] }
      ]
    },
    tree: { $ref: '#/$defs/node' },
    extra: { type: 'object', additionalProperties: { type: 'string' } }
  },
  $defs: { node, named: { properties: { title: { type: 'string', minLength: 3 } }, required: ['title'] } }
}

const results: Readonly<Record<string, object>> = {
  show: {
    content: [
      { type: 'text', text: 'Plain <b>text</b>' },
      { type: 'text', text: '{"rows":[{"id":12345678901234567890}]}' },
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'audio', data: png, mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'https://example.com/report', name: 'report' },
      { type: 'resource', resource: { uri: 'x://blob', blob: png, mimeType: 'application/zip' } }
    ],
    structuredContent: { sum: 'three' }
  },
  fail: { ...textResult('No such order'), isError: true }
}

export interface SampleUpstream extends Upstream {
  /** The listed tools; a change is visible after the next refresh. */
  readonly tools: { name: string; description: string; inputSchema: object; [member: string]: unknown }[]
  readonly prompts: { description: string }[]
  readonly resources: { mimeType: string }[]
  /** Ends the pending calls of `wait`. */
  release(): void
}

/** Starts an upstream with items of every kind. */
export async function startSampleUpstream(t: TestContext): Promise<SampleUpstream> {
  const none = { type: 'object' }
  const tools: SampleUpstream['tools'] = [
    { name: 'order', description: 'Takes an order', inputSchema: orderSchema },
    {
      name: 'show',
      description: 'Shows results of every kind',
      inputSchema: none,
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } } },
      annotations: { readOnlyHint: true }
    },
    { name: 'fail', description: 'Says that it failed', inputSchema: none },
    { name: 'break', description: 'Breaks the protocol', inputSchema: none },
    { name: 'wait', description: 'Takes its time', inputSchema: none },
    {
      name: 'spin',
      description: 'Has a pattern that takes for ever',
      inputSchema: { type: 'object', properties: { word: { type: 'string', pattern: '^(a+)+$' } } }
    },
    { name: 'drop', description: 'Drops everything', inputSchema: none, annotations: { destructiveHint: true } }
  ]
  const prompts = [{ name: 'greet', description: 'Greets', arguments: [{ name: 'who', required: true }] }]
  const resources = [{ uri: 'note://one', name: 'One', mimeType: 'text/plain', size: 12 }]
  const held: (() => void)[] = []
  const answers: Readonly<Record<string, (message: Message) => object>> = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, prompts: {}, resources: {} },
      serverInfo: { name: 'offering', version: '1' }
    }),
    'prompts/list': () => ({ prompts }),
    'prompts/get': ({ params }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: `Greet ${String(params?.arguments?.who)}` } },
        { role: 'assistant', content: { type: 'text', text: 'Hello' } }
      ]
    }),
    'resources/list': () => ({ resources }),
    'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'note://{id}', name: 'Any note' }] }),
    'resources/read': ({ params }) => ({
      contents: [{ uri: (params as { uri: string }).uri, text: `It is ${(params as { uri: string }).uri}` }]
    })
  }
  const call = (message: Message, response: ServerResponse): void => {
    const name = message.params?.name ?? ''
    if (name === 'break') {
      return sendJson(response, {
        jsonrpc: '2.0',
        id: message.id,
        error: { code: -32603, message: 'It broke' }
      }) as never
    }
    if (name === 'wait') return void held.push(() => sendResult(response, message, textResult('Done')))
    sendResult(response, message, results[name] ?? textResult(JSON.stringify(message.params?.arguments)))
  }
  const upstream = await startUpstream(t, 'offering', {
    tools,
    onCall: call,
    onRequest(message, response) {
      const answer = answers[message.method]
      if (answer) sendResult(response, message, answer(message))
      return answer !== undefined
    }
  })
  return { ...upstream, tools, prompts, resources, release: () => held.splice(0).forEach((end) => end()) }
}
