// Messages of a hostile server for any transport, as bytes. Plain JavaScript, so that a process starts fast.
let generation = 0
const text = 'd'.repeat(2_000)
const bytes = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
const rpc = (members) => bytes({ jsonrpc: '2.0', ...members })
const resultText = (id, result) => bytes(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`)
const said = { content: [{ type: 'text', text: 'said' }] }
const note = (method, params) => rpc({ method: `notifications/${method}`, params })
const ask = (id, method, params) => rpc({ id, method, params })
function* many(count, make) {
  for (let at = 0; at < count; at++) yield make(at)
}
const link = (at) => ({ type: 'resource_link', name: 'l', uri: `x://${generation++}-${at}/${'u'.repeat(7_000)}` })
const page = (at) => ({
  mode: 'url',
  url: 'https://example.org',
  message: text,
  elicitationId: `${generation++}-${at}`
})
const form = { type: 'object', properties: { a: { type: 'string', description: text } } }

/** Messages before the result, and the result, by tool name. */
const answers = {
  *plain(id) {
    yield rpc({ id, result: said })
  },
  *huge(id) {
    yield resultText(id, `{"content":[{"type":"text","text":"${'h'.repeat(8_000_000)}"}]}`)
  },
  *largest(id) {
    yield resultText(id, `{"content":[{"type":"text","text":"${'h'.repeat(17_000_000)}"}]}`)
  },
  *links(id) {
    yield rpc({ id, result: { content: [...many(900, link)] } })
  },
  *nested(id) {
    yield resultText(id, `{"content":[],"structuredContent":${'{"a":'.repeat(500_000)}1${'}'.repeat(500_000)}}`)
  },
  *elements(id) {
    yield resultText(id, `{"content":[${'{},'.repeat(2_500_000)}{}]}`)
  },
  *members(id) {
    yield resultText(id, `{${'"":0,'.repeat(1_500_000)}"content":[]}`)
  },
  *escapes(id) {
    yield resultText(id, `{"content":[{"type":"text","text":"${'\\u0041'.repeat(1_000_000)}"}]}`)
  },
  *utf8(id) {
    yield resultText(id, '{"content":[{"type":"text","text":"~"}]}').map((byte) => (byte === 126 ? 0xff : byte))
  },
  *keys(id) {
    yield resultText(id, `{"content":[],"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}`)
  },
  *twice(id) {
    yield* many(500, (at) => rpc({ id: `${at}`, result: said }))
    yield* many(500, () => rpc({ id, result: said }))
  },
  *ids(id) {
    yield* many(4, (at) => rpc({ id: `${at}${'i'.repeat(2_000_000)}`, result: said }))
    yield rpc({ id, result: said })
  },
  *progress(id, token) {
    yield* many(20_000, (at) => note('progress', { progressToken: token, progress: at, total: 1e308, message: 'm' }))
    yield rpc({ id, result: said })
  },
  *logs(id) {
    yield* many(20_000, () => note('message', { level: 'emergency', logger: text, data: [] }))
    yield rpc({ id, result: said })
  },
  *changes(id) {
    yield* many(5_000, (at) => note(`${['tools', 'prompts', 'resources'][at % 3]}/list_changed`))
    yield rpc({ id, result: said })
  },
  *updates(id) {
    yield* many(10_000, (at) => note('resources/updated', { uri: `x://${at}${'u'.repeat(500)}` }))
    yield rpc({ id, result: said })
  },
  *samplings(id) {
    yield* many(2_000, (at) => ask(`p${at}`, 'sampling/createMessage', { messages: [], maxTokens: 1, x: text }))
    yield rpc({ id, result: said })
  },
  *elicitations(id) {
    yield* many(2_000, (at) =>
      ask(at, 'elicitation/create', at % 2 ? page(at) : { message: text, requestedSchema: form })
    )
    yield rpc({ id, result: said })
  },
  *pings(id) {
    yield* many(20_000, (at) => ask(at, at % 2 ? 'ping' : 'roots/list'))
    yield rpc({ id, result: said })
  },
  *pages(id) {
    yield rpc({ id, error: { code: -32042, message: text, data: { elicitations: [...many(3_000, page)] } } })
  },
  *errors(id) {
    yield rpc({ id, error: { code: 1e300, message: 'e'.repeat(4_000_000), data: said } })
  },
  *questions(id) {
    const asked = Object.fromEntries([
      ...many(2_000, (at) => [`q${at}`, { method: 'elicitation/create', params: page(at) }])
    ])
    yield rpc({ id, result: { resultType: 'input_required', inputRequests: asked, requestState: 's'.repeat(500_000) } })
  },
  *silence() {}
}

/** Names of the tools on every transport. */
export const tools = Object.keys(answers)

const listed = [
  // 300 different names at each listing
  () => [...many(300, (at) => ({ name: `t${generation}-${at}`, description: text, inputSchema: { type: 'object' } }))],
  () => [...many(60_000, (at) => ({ name: `n${at}`, inputSchema: {} }))],
  () => [
    {
      name: 'wide',
      inputSchema: { type: 'object', properties: Object.fromEntries([...many(60_000, (at) => [`p${at}`, {}])]) }
    }
  ],
  () => [...many(4_000, () => ({ name: 'same', description: text }))],
  () => [
    { name: 'long'.repeat(100_000), description: 'x-mcp-header' },
    { name: '__proto__' },
    { name: 'constructor' },
    {}
  ],
  () => [{ name: 'large', description: 'd'.repeat(6_000_000) }]
]

/**
 * Answers a list request: hostile in a different way each time, with the tools to call first, so that they stay listed.
 */
function* list(id, own, isPaged) {
  generation++
  const plain = [...tools, ...own].map((name) => ({ name, inputSchema: { type: 'object' } }))
  const result = { tools: [...plain, ...listed[generation % listed.length]()] }
  const body = JSON.stringify(generation % 7 === 3 && isPaged ? { ...result, nextCursor: `${generation}` } : result)
  yield resultText(id, generation % 5 === 4 ? body.replace('ddd', '\\q') : body)
}

const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {}
}

/**
 * Yields the messages that answer a request, in order; none for a notification or a response. `own`: additional tools.
 */
export function* answersTo({ id, method, params = {} }, own = []) {
  if (id === undefined || method === undefined) return
  const name = params.name
  if (method === 'initialize') {
    const serverInfo = { name: 'bad', version: '1' }
    yield rpc({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo, instructions: text } })
  } else if (method === 'tools/list') yield* list(id, own, params.cursor === undefined)
  else if (method === 'prompts/list')
    yield rpc({ id, result: { prompts: [...many(500, (at) => ({ name: `p${at}` }))] } })
  else if (method === 'resources/list')
    yield rpc({ id, result: { resources: [...many(500, (at) => ({ uri: `bad://${at}`, name: text }))] } })
  else if (method === 'resources/templates/list') {
    const hard = [
      'bad://{x}',
      `bad://{${'x,'.repeat(500)}y}`,
      `bad://${'{a}'.repeat(200)}`,
      `bad://${'{+a}/'.repeat(50)}z`
    ]
    yield rpc({ id, result: { resourceTemplates: hard.map((uriTemplate, at) => ({ uriTemplate, name: `t${at}` })) } })
  } else if (method === 'tools/call' && Object.hasOwn(answers, name))
    yield* answers[name](id, params._meta?.progressToken)
  else if (method === 'completion/complete')
    yield rpc({ id, result: { completion: { values: [...many(100_000, (at) => `v${at}`)] } } })
  else yield rpc({ id, result: {} })
}

/** Notifications repeated on listening streams. */
export const storm = [
  ...['tools', 'prompts', 'resources'].map((kind) => note(`${kind}/list_changed`)),
  note('message', { level: 'error', data: text }),
  note('resources/updated', { uri: 'bad://note' }),
  ask('s1', 'sampling/createMessage', { messages: [], maxTokens: 1, x: text }),
  ask('s2', 'ping'),
  bytes('{"jsonrpc":"2.0","method":'),
  bytes(`[${'{},'.repeat(1_000)}{}]`)
]
