/**
 * Messages of a well-behaved MCP server, which the fuzzer then changes. `name` distinguishes its items from
 * other servers'.
 */

const MODERN = '2026-07-28'
const META = 'io.modelcontextprotocol/'

const icons = [{ src: 'data:image/png;base64,AAAA', mimeType: 'image/png', sizes: ['16x16'], theme: 'dark' }]
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' }
const _meta = { 'example.org/a': { b: [1, 'c'] } }

const tool = (name: string) => ({
  name,
  title: 'A tool',
  description: `Does ${name}`,
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, deep: { $ref: '#/$defs/d' } },
    $defs: { d: { type: 'object', additionalProperties: { enum: [1, 'a', null] } } }
  },
  outputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  annotations: { title: 'A tool', readOnlyHint: true, openWorldHint: false },
  execution: { taskSupport: 'optional' },
  icons,
  _meta
})

/** Listed tools; calling `push` and `notes` sends other messages first, `ask` needs input, `fail` is refused. */
export const toolNames = ['plain', 'push', 'notes', 'ask', 'fail'] as const

const prompt = (name: string) => ({
  name,
  title: 'A prompt',
  description: 'Greets',
  arguments: [{ name: 'who', title: 'Who', description: 'Whom to greet', required: true }, { name: 'how' }],
  icons,
  _meta
})
const resource = (uri: string) => ({
  uri,
  name: 'note',
  title: 'A note',
  description: 'Text',
  mimeType: 'text/plain',
  size: 4,
  annotations,
  icons,
  _meta
})

/** Returns a page; each list has two. */
function listPage(member: string, items: readonly object[], cursor: unknown): object {
  const isFirst = cursor === undefined
  const page = isFirst ? items.slice(0, -1) : items.slice(-1)
  return { [member]: page, ...(isFirst ? { nextCursor: 'page-2' } : {}), ttlMs: 60_000, cacheScope: 'private' }
}

const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {}
}

const contents = (uri: string) => [
  { type: 'text', text: 'said', annotations, _meta },
  { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
  { type: 'resource_link', uri, name: 'note', description: 'A link', mimeType: 'text/plain', size: 4 },
  { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'said', _meta } }
]

const form = { type: 'object', properties: { age: { type: 'integer', title: 'Age', minimum: 0 } }, required: ['age'] }
const sampling = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Say a word' } }],
  systemPrompt: 'Be brief',
  modelPreferences: { hints: [{ name: 'any' }], costPriority: 0.3 },
  maxTokens: 10
}
const inputRequests = {
  a: { method: 'elicitation/create', params: { message: 'How old?', requestedSchema: form } },
  b: { method: 'sampling/createMessage', params: sampling },
  c: { method: 'roots/list' }
}

export interface RpcRequest {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Returns true for a request in the modern envelope. */
export const isModern = ({ params }: RpcRequest) =>
  (params?._meta as Record<string, unknown> | undefined)?.[`${META}protocolVersion`] !== undefined

function resultOf(name: string, request: RpcRequest): object | undefined {
  const { method, params = {} } = request
  const uri = `${name}://note`
  const serverInfo = { name, title: 'Bad', version: '1.0.0', websiteUrl: 'https://example.org', icons }
  const instructions = 'Use the tools.\n\nWith care.'
  switch (method) {
    case 'initialize':
      return { protocolVersion: '2025-11-25', capabilities, serverInfo, instructions, _meta }
    case 'server/discover':
      return {
        supportedVersions: [MODERN],
        capabilities,
        instructions,
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { [`${META}serverInfo`]: serverInfo }
      }
    case 'tools/list':
      return listPage('tools', [...toolNames, 'last'].map(tool), params.cursor)
    case 'prompts/list':
      return listPage('prompts', ['greet', 'other'].map(prompt), params.cursor)
    case 'resources/list':
      return listPage('resources', [uri, `${name}://other`].map(resource), params.cursor)
    case 'resources/templates/list': {
      const templates = ['{id}', 'x/{+path}'].map((end) => ({
        ...resource(''),
        uri: undefined,
        uriTemplate: `${name}://${end}`
      }))
      return listPage('resourceTemplates', templates, params.cursor)
    }
    case 'tools/call':
      if (params.name === 'fail') return undefined
      if (params.name === 'ask' && isModern(request) && params.inputResponses === undefined) {
        return { resultType: 'input_required', inputRequests, requestState: 'state-1' }
      }
      return { content: contents(uri), structuredContent: { a: 1 }, isError: false, _meta }
    case 'prompts/get':
      return { description: 'd', messages: contents(uri).map((content) => ({ role: 'user', content })), _meta }
    case 'resources/read':
      return {
        contents: [
          { uri, mimeType: 'text/plain', text: 'said', _meta },
          { uri, blob: 'AAAA' }
        ],
        ttlMs: 0,
        cacheScope: 'private'
      }
    case 'completion/complete':
      return { completion: { values: ['a', 'b'], total: 2, hasMore: false } }
    default:
      return {}
  }
}

/** Returns the correct response to a request, as a JSON-RPC message. */
export function answerTo(name: string, request: RpcRequest): object {
  const result = resultOf(name, request)
  const { id } = request
  if (!result)
    return { jsonrpc: '2.0', id, error: { code: -32000, message: 'it did not work', data: { why: ['a', null] } } }
  return { jsonrpc: '2.0', id, result: isModern(request) ? { resultType: 'complete', ...result } : result }
}

export interface ServerMessage {
  readonly kind: string
  readonly message: object
}

const notification = (method: string, params: object): ServerMessage => ({
  kind: method,
  message: { jsonrpc: '2.0', method: `notifications/${method}`, params }
})
const push = (id: unknown, method: string, params: object): ServerMessage => ({
  kind: method,
  message: { jsonrpc: '2.0', id, method, params }
})

/** Returns the requests that a server sends to its client. */
export const pushes = (): ServerMessage[] => [
  push('p1', 'sampling/createMessage', sampling),
  push(2, 'elicitation/create', { message: 'How old?', requestedSchema: form }),
  push('p3', 'elicitation/create', {
    mode: 'url',
    message: 'Sign in',
    url: 'https://example.org/in',
    elicitationId: 'e1'
  }),
  push(4, 'roots/list', {}),
  push('p5', 'ping', {}),
  push('p6', 'custom/method', { a: 1 })
]

/** Returns a server's notifications, those of a call with its progress token. */
export const notifications = (name: string, progressToken: unknown): ServerMessage[] => [
  notification('progress', { progressToken, progress: 1, total: 2, message: 'half' }),
  notification('message', { level: 'warning', logger: 'l', data: { a: ['said'] } }),
  notification('resources/updated', { uri: `${name}://note` }),
  notification('tools/list_changed', {}),
  notification('prompts/list_changed', {}),
  notification('resources/list_changed', {}),
  notification('elicitation/complete', { elicitationId: 'e1' }),
  notification('cancelled', { requestId: 'p1', reason: 'r' }),
  notification('custom', { a: 1 })
]

/** Kinds of JSON documents that a case can change: responses by method, the server's own messages, OAuth documents. */
export const kinds = [
  'initialize',
  'server/discover',
  ...['tools/list', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'],
  ...['tools/call', 'tools/call', 'prompts/get', 'resources/read', 'completion/complete'],
  ...['resources/subscribe', 'logging/setLevel', 'ping'],
  ...['sampling/createMessage', 'elicitation/create', 'roots/list', 'custom/method'],
  ...['progress', 'message', 'resources/updated', 'tools/list_changed', 'elicitation/complete', 'cancelled', 'custom']
] as const

/** Returns the OAuth documents of the server whose paths begin with `origin`, by path suffix. */
export const documents = (origin: string): Readonly<Record<string, object>> => ({
  '/.well-known/oauth-protected-resource': {
    resource: `${origin}/guarded`,
    authorization_servers: [origin],
    scopes_supported: ['mcp'],
    resource_name: 'Bad'
  },
  '/.well-known/oauth-authorization-server': {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: false
  },
  '/register': {
    client_id: 'client-1',
    client_secret: 'secret-1',
    client_secret_expires_at: 0,
    redirect_uris: [`${origin}/callback`],
    token_endpoint_auth_method: 'client_secret_basic'
  },
  '/token': {
    access_token: 'access-1',
    token_type: 'bearer',
    expires_in: 3600,
    refresh_token: 'refresh-1',
    scope: 'mcp'
  },
  '/refusal': { error: 'invalid_grant', error_description: 'used up', error_uri: 'https://example.org/e' }
})
