import { setTimeout as delay } from 'node:timers/promises'
import { legacyBody, META, modernBody, modernHeaders } from '../../integration/mcp-messages.ts'
import {
  head,
  json,
  sendAndReset,
  post,
  postText,
  send,
  times,
  sendWithoutReading,
  type Target,
  type Burst
} from './wire.ts'

const lists = ['tools/list', 'prompts/list', 'resources/list']
const batchOf = (message: (id: number) => string) =>
  `[${Array.from({ length: 100 }, (_, id) => message(id)).join(',')}]`
const deep = '['.repeat(2_000_000)
const long = 'a'.repeat(3_900_000)
const initialize = legacyBody('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} },
  clientInfo: { name: 'x'.repeat(1_000), version: '1' }
})

/** Returns the headers of a new session; undefined if it was refused. */
async function openSession(aim: Target): Promise<Record<string, string> | undefined> {
  const id = (await post(aim, '/mcp', initialize))?.get('mcp-session-id')
  return typeof id === 'string' ? { 'mcp-session-id': id } : undefined
}
const inSessions = (count: number, work: (aim: Target, session: Record<string, string>) => Promise<unknown>): Burst => {
  return (aim) =>
    times(count, async () => {
      const session = await openSession(aim)
      if (session) await work(aim, session)
    })
}

const modern = (aim: Target, method: string, params: { name?: string; [member: string]: unknown }) =>
  post(aim, '/mcp', modernBody(method, params), modernHeaders(method, params.name))
const modernCall = (aim: Target, name: string, capabilities: object) =>
  modern(aim, 'tools/call', {
    name,
    arguments: {},
    _meta: { [`${META}clientCapabilities`]: capabilities, progressToken: 1 }
  })

/** Requests with identifiers as long as the body limit allows, each in a different place. */
const longOnes = [
  legacyBody('resources/subscribe', { uri: `bad://${long}` }),
  legacyBody('resources/read', { uri: long }),
  legacyBody('tools/call', { name: `bad__${long}` }),
  legacyBody('tools/call', { name: 'bad__plain', _meta: { progressToken: long } }),
  legacyBody('tools/list', { cursor: long }),
  legacyBody('ping', {}, long),
  legacyBody(long),
  legacyBody('logging/setLevel', { level: long }),
  legacyBody('completion/complete', { ref: { type: 'ref/prompt', name: long }, argument: { name: 'a', value: long } }),
  `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"${long}":1}}`,
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: long, reason: long } })
]

const wide = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bad__plain","arguments":{${'"":0,'.repeat(
  90_000
)}"z":0}}}`

/** Attacks by an MCP client with the fewest permissions: only the hostile servers. */
export const ofClient: Readonly<Record<string, Burst>> = {
  'batches of lists': (aim) =>
    times(10, () =>
      post(
        aim,
        '/mcp',
        batchOf((id) => legacyBody('tools/list', {}, id))
      )
    ),
  'batches of calls': (aim) =>
    times(4, () =>
      post(
        aim,
        '/mcp',
        batchOf((id) => legacyBody('tools/call', { name: 'bad__plain', arguments: {} }, id))
      )
    ),
  'unread pipelined lists': (aim) =>
    sendWithoutReading(
      aim,
      40,
      lists
        .map((method) => postText(aim, '/mcp', legacyBody(method)))
        .join('')
        .repeat(4)
    ),
  'long identifiers': (aim) => times(longOnes.length, (at) => post(aim, '/mcp', longOnes[at]!)),
  'subscriptions, many': inSessions(4, (aim, session) =>
    times(100, (at) =>
      post(aim, '/mcp', legacyBody('resources/subscribe', { uri: `bad://${at}${'u'.repeat(8_000)}` }), session)
    )
  ),
  'slow senders': (aim) =>
    sendWithoutReading(aim, 40, head(aim, 'POST', '/mcp', { ...json, 'content-length': '4000000' }), '{"a":1,'),
  'bodies without their end': (aim) =>
    sendWithoutReading(
      aim,
      40,
      head(aim, 'POST', '/mcp', { ...json, 'content-length': '4000000' }) + long.slice(0, 3_000_000)
    ),
  'huge, deep and wide bodies': (aim) =>
    times(6, (at) =>
      post(aim, '/mcp', [deep, legacyBody('ping', { long }), wide, `${'{"a":'.repeat(63)}1${'}'.repeat(63)}`][at % 4]!)
    ),
  'arguments of megabytes': (aim) =>
    times(24, () => post(aim, '/mcp', legacyBody('tools/call', { name: 'bad__drip', arguments: { long } }))),
  'sessions with open streams': inSessions(50, (aim, session) =>
    sendWithoutReading(aim, 1, head(aim, 'GET', '/mcp', { accept: 'text/event-stream', ...session }))
  ),
  'sessions that end': inSessions(30, (aim, session) => send(aim, 'DELETE', '/mcp', session)),
  'event ids of others': inSessions(6, (aim, session) =>
    times(10, (at) =>
      sendAndReset(
        aim,
        1,
        head(aim, 'GET', '/mcp', {
          accept: 'text/event-stream',
          ...session,
          'last-event-id': `${at}-${'9'.repeat(at * 90)}`
        }),
        200
      )
    )
  ),
  'SSE streams that nobody reads': (aim) =>
    sendWithoutReading(aim, 50, head(aim, 'GET', '/sse', { accept: 'text/event-stream' })),
  'listening streams that nobody reads': (aim) =>
    sendWithoutReading(
      aim,
      50,
      postText(
        aim,
        '/mcp',
        modernBody('subscriptions/listen', {
          notifications: {
            toolsListChanged: true,
            resourcesListChanged: true,
            promptsListChanged: true,
            resourceSubscriptions: Array.from({ length: 100 }, (_, at) => `bad://${at}${'u'.repeat(4_000)}`)
          }
        }),
        modernHeaders('subscriptions/listen')
      )
    ),
  capabilities: (aim) =>
    times(40, (at) => modernCall(aim, 'bad__plain', { experimental: { [`x${at}`]: 'x'.repeat(50_000) } })),
  completion: (aim) =>
    times(20, (at) =>
      post(
        aim,
        '/mcp',
        legacyBody('completion/complete', {
          ref: { type: 'ref/resource', uri: `bad://{${'x,'.repeat(1_000)}y}` },
          argument: { name: `a${at}`, value: 'v'.repeat(100_000) },
          context: { arguments: Object.fromEntries(Array.from({ length: 5_000 }, (_, key) => [`k${key}`, 'v'])) }
        })
      )
    ),
  cancels: inSessions(4, (aim, session) =>
    times(20, (at) =>
      post(
        aim,
        '/mcp',
        batchOf((id) =>
          JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: `${at}${id}` } })
        ),
        session
      )
    )
  ),
  'log levels': inSessions(4, (aim, session) =>
    times(30, (at) =>
      post(aim, '/mcp', legacyBody('logging/setLevel', { level: at % 2 === 0 ? 'debug' : 'emergency' }), session)
    )
  ),
  'names that nobody offers': (aim) =>
    times(60, (at) => post(aim, '/mcp', legacyBody('tools/call', { name: `bad__none-${at}-${Math.random()}` }))),
  'routes of others': (aim) =>
    times(40, (at) =>
      send(aim, 'GET', ['/api/v0/servers', '/api/v0/clients', '/api/v0/audit', '/mcp/groups/none', '/console'][at % 5]!)
    )
}

/** Attacks by calls of hostile servers, by tool. */
export function ofCaller(tools: readonly (readonly [server: string, tool: string])[]): Readonly<Record<string, Burst>> {
  const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} }
  const body = (name: string) => legacyBody('tools/call', { name, arguments: {}, _meta: { progressToken: 1 } })
  return Object.fromEntries(
    tools.map(([server, tool]) => {
      const name = `${server}__${tool}`
      const burst: Burst = (aim) =>
        times(6, async (at) => {
          if (at % 3 === 0) return modernCall(aim, name, capabilities)
          if (at % 3 === 1) return post(aim, '/mcp', body(name))
          await delay(100 * at)
          return sendAndReset(aim, 1, postText(aim, '/mcp', body(name)), 300)
        })
      return [`${server}: ${tool}`, burst] as const
    })
  )
}
