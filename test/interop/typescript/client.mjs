/** Clients of both versions of the TypeScript SDK; prints one line of JSON per feature. */
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const offer = JSON.parse(readFileSync(new URL('../offer.json', import.meta.url), 'utf8'))
const root = 'file:///interop'
const watched = 'interop://watched'
const unsupported = new Error('unsupported')
const names = ['sdk', 'url', 'transport', 'mode', 'prefix', 'token', 'ledger', 'only']
const { values: options } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) })
const prefix = options.prefix ?? ''
const heard = { logs: [], updated: [], changed: 0 }

/** Answers a server request; answers to parallel calls take longer the later the request came. */
async function answer(message) {
  const question = message.replace(/^\[[^\]]+\] /, '')
  const number = /^ask-(\d+)$/.exec(question)?.[1]
  if (number !== undefined) await delay(300 * (1 + Number(number)))
  return `answer to ${question}`
}

const answering = {
  'sampling/createMessage': async ({ params }) => {
    const text = await answer([params.messages[0].content].flat()[0].text)
    return { role: 'assistant', model: 'm', content: { type: 'text', text } }
  },
  'elicitation/create': async ({ params }) => ({
    action: 'accept',
    content: { answer: await answer(params.message) }
  }),
  'roots/list': () => ({ roots: [{ uri: root }] })
}

const hearing = {
  'notifications/message': ({ params }) => heard.logs.push(/log-\d/.exec(JSON.stringify(params.data))?.[0]),
  'notifications/resources/updated': ({ params }) => heard.updated.push(params.uri),
  'notifications/tools/list_changed': () => heard.changed++
}

const capabilities = { sampling: {}, elicitation: { form: {} }, roots: {} }
const identity = { name: 'interop', version: '1' }

async function connectV1() {
  const types = await import('@modelcontextprotocol/sdk/types.js')
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const client = new Client(identity, { capabilities })
  client.setRequestHandler(types.CreateMessageRequestSchema, answering['sampling/createMessage'])
  client.setRequestHandler(types.ElicitRequestSchema, answering['elicitation/create'])
  client.setRequestHandler(types.ListRootsRequestSchema, answering['roots/list'])
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, hearing['notifications/message'])
  client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, hearing['notifications/resources/updated'])
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, hearing['notifications/tools/list_changed'])
  const transports = {
    ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
    ...(await import('@modelcontextprotocol/sdk/client/sse.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js'))
  }
  let revision = ''
  const transport = transportOf(transports)
  transport.setProtocolVersion = (version) => (revision = version)
  await client.connect(transport)
  const call = (params, more) => client.callTool(params, undefined, { timeout: 120_000, ...more })
  return { client, call, revision: () => revision || '2025-11-25', isModern: false }
}

async function connectV2() {
  const { Client, ...transports } = await import('@modelcontextprotocol/client')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  const negotiation = options.mode === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {}
  const client = new Client(identity, { capabilities, ...negotiation })
  for (const [method, handle] of Object.entries(answering)) client.setRequestHandler(method, handle)
  for (const [method, handle] of Object.entries(hearing)) client.setNotificationHandler(method, handle)
  await client.connect(transportOf({ ...transports, StdioClientTransport }))
  const revision = client.getNegotiatedProtocolVersion() ?? ''
  const isModern = revision >= '2026'
  const level = isModern ? { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } } : {}
  return {
    client,
    call: (params, more) => client.callTool({ ...params, ...level }, { timeout: 120_000, ...more }),
    revision: () => revision,
    isModern
  }
}

function transportOf({ StdioClientTransport, SSEClientTransport, StreamableHTTPClientTransport }) {
  if (options.transport === 'stdio') {
    const [command, ...args] = JSON.parse(options.url)
    return new StdioClientTransport({ command, args, env: process.env })
  }
  const Transport = options.transport === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport
  const headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }
  return new Transport(new URL(options.url), { requestInit: { headers } })
}

function expect(actual, expected, what) {
  const [is, wanted] = [actual, expected].map((value) => JSON.stringify(value))
  if (is !== wanted) throw new Error(`${what}: ${is} instead of ${wanted}`)
}

function among(expected, actual, what) {
  const missing = expected.filter((one) => !actual.includes(one))
  if (missing.length > 0) throw new Error(`${what}: without ${missing.join(', ')}`)
}

async function until(what, condition) {
  for (const end = performance.now() + 15_000; performance.now() < end; await delay(20)) if (await condition()) return
  throw new Error(`no ${what} within 15 s`)
}

const textOf = ({ content }) => content.map(({ text = '' }) => text).join('')

function featuresOf({ client, call: send, isModern }) {
  const call = (name, args, more) => send({ name: prefix + name, ...(args && { arguments: args }) }, more)
  const says = (name, args, expected) => async () => expect(textOf(await call(name, args)), expected, 'text')
  const reads = (uri, expected) => async () =>
    expect((await client.readResource({ uri })).contents[0].text, expected, 'text')
  const tools = async () => (await client.listTools()).tools.map(({ name }) => name)
  const templates = async () =>
    (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)
  const each = async (count, tool, word, expected) => {
    const one = async (number) => {
      const asked = `${word}${number}`
      const said = await call(tool, { text: asked }).then(textOf, String)
      return said === expected + asked ? undefined : said
    }
    const wrong = (await Promise.all(Array.from({ length: count }, (_, number) => one(number)))).filter(Boolean)
    if (wrong.length > 0) throw new Error(`${tool}: ${count - wrong.length} of ${count} right, else ${wrong[0]}`)
  }
  return {
    lists: async () => {
      among(
        offer.tools.map(({ name }) => prefix + name),
        await tools(),
        'tools'
      )
      among(
        [`${prefix}greet`],
        (await client.listPrompts()).prompts.map(({ name }) => name),
        'prompts'
      )
      const { resources } = await client.listResources()
      among(
        offer.resources.map(({ uri }) => uri),
        resources.map(({ uri }) => uri),
        'resources'
      )
      among(
        offer.templates.map(({ uriTemplate }) => uriTemplate),
        await templates(),
        'templates'
      )
    },
    text: says('echo', { text: 'Grüße, 世界 \u2028' }, 'Grüße, 世界 \u2028'),
    image: async () => expect((await call('image', {})).content[0].data, offer.image, 'image'),
    structured: async () => {
      expect((await call('structured', { a: 19, b: 23 })).structuredContent, { sum: 42 }, 'structured content')
    },
    error: async () => {
      const result = await call('fail', {})
      expect([result.isError, textOf(result).slice(-10)], [true, 'on purpose'], 'error of the tool')
    },
    'no-arguments': async () => expect((await call('image')).isError ?? false, false, 'isError'),
    prompt: async () => {
      const { messages } = await client.getPrompt({ name: `${prefix}greet`, arguments: { name: 'Ada' } })
      expect(messages[0].content.text, 'Hello, Ada', 'prompt')
    },
    read: reads('interop://static', 'static text'),
    template: reads('interop://items/42', 'item 42'),
    wildcard: async () => {
      if (!(await templates()).includes('path://{p*}')) throw unsupported
      await reads('path://a/b/c', 'path a/b/c')()
    },
    complete: async () => {
      const ref = { type: 'ref/prompt', name: `${prefix}greet` }
      const { completion } = await client.complete({ ref, argument: { name: 'name', value: 'A' } })
      expect(completion.values, offer.names, 'values')
    },
    progress: async () => {
      const seen = []
      await call('progress', {}, { onprogress: ({ progress }) => seen.push(progress) })
      // these SDKs drop the progress callback before a notification that arrives together with the result
      expect(seen.slice(0, 3), [1, 2, 3], 'progress')
    },
    log: async () => {
      if (!isModern) await client.setLoggingLevel('debug')
      await call('log', {})
      await until('two log messages', () => heard.logs.includes('log-1') && heard.logs.includes('log-2'))
    },
    cancel: async () => {
      const token = String(performance.timeOrigin)
      const wrote = (word) => () =>
        existsSync(options.ledger) && readFileSync(options.ledger, 'utf8').includes(`${word} ${token}`)
      const stop = new AbortController()
      const ended = call('slow', { token }, { signal: stop.signal }).catch(() => {})
      await until('start of the call', wrote('started'))
      stop.abort()
      await ended
      await until('cancellation at the server', wrote('cancelled'))
    },
    sampling: says('sample', { text: 'why' }, 'sampled: answer to why'),
    elicitation: says('elicit', { text: 'who' }, 'elicited: accept answer to who'),
    roots: says('roots', {}, `roots: ${root}`),
    parallel: () => each(20, 'echo', 'n', ''),
    askers: async () => {
      await each(5, 'sample', 'ask-', 'sampled: answer to ')
      await each(5, 'elicit', 'ask-', 'elicited: accept answer to ')
    },
    subscribe: async () => {
      await (isModern
        ? client.listen({ resourceSubscriptions: [watched] })
        : client.subscribeResource({ uri: watched }))
      await call('touch', {})
      await until('update of the resource', () => heard.updated.includes(watched))
    },
    'list-changed': async () => {
      if (isModern) await client.listen({ toolsListChanged: true })
      const before = heard.changed
      await call('grow', {})
      await until('word of the changed list', () => heard.changed > before)
      await until('new tool in the list', async () => (await tools()).includes(`${prefix}extra`))
    }
  }
}

const say = (feature, outcome, note = '') =>
  console.log(JSON.stringify({ feature, outcome, note: String(note).replaceAll('\n', ' ').slice(0, 300) }))

async function attempt(name, feature) {
  const late = delay(120_000).then(() => {
    throw new Error('no end in time')
  })
  try {
    await Promise.race([feature(), late])
    say(name, 'ok')
  } catch (error) {
    if (error === unsupported) say(name, 'unsupported')
    else say(name, 'failed', error)
  }
}

process.on('unhandledRejection', () => {})
try {
  const connected = await (options.sdk === '1' ? connectV1() : connectV2())
  say('init', 'ok', connected.revision())
  for (const [name, feature] of Object.entries(featuresOf(connected)))
    if (options.only === undefined || options.only.split(',').includes(name)) await attempt(name, feature)
} catch (error) {
  say('init', 'failed', error)
}
process.exit(0)
