import { join } from 'node:path'
import { root } from '../../e2e/harness.ts'
import { legacyBody, modernBody, modernHeaders } from '../../integration/mcp-helpers.ts'
import { toolNames } from './messages.ts'
import { problemOfReply, valuesOf, type Reply } from './oracle.ts'
import type { Action, Plan } from './plan.ts'
import type { HostileServer } from './server.ts'
import type { Victim } from './victim.ts'

/** Time after which the client aborts a call that may wait for it. */
const LEAVE_MS = 4_000
const capabilities = { sampling: { tools: {} }, elicitation: { form: {}, url: {} }, roots: { listChanged: true } }
const redirectUri = 'http://127.0.0.1:9/api/dashboard/oauth/callback'

/** A legacy session that declares every capability, and the bytes its stream has received. */
interface Session {
  readonly headers: Record<string, string>
  readonly problem: () => string | undefined
  /** True once the server may have asked this client, which never answers: the deadlines of later calls wait too. */
  mayHaveOpenQuestion: boolean
  close(): Promise<void>
}

async function openSession(victim: Victim): Promise<Session | undefined> {
  const clientInfo = { name: 'fuzz', version: '1' }
  const opening = legacyBody('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo })
  const opened = await victim.ask('POST', '/mcp', opening, 'client')
  const id = opened.headers.get('mcp-session-id')
  if (id === null) return undefined
  const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
  const stop = new AbortController()
  const given = { ...victim.headers('client'), ...headers, accept: 'text/event-stream' }
  const response = await fetch(`${victim.gateway().url}/mcp`, { headers: given, signal: stop.signal })
  const chunks: Uint8Array[] = []
  const read = async () => {
    for await (const chunk of response.body!) chunks.push(chunk as Uint8Array)
  }
  const done = read().catch(() => {})
  return {
    headers,
    mayHaveOpenQuestion: false,
    problem() {
      const heard = Buffer.concat(chunks)
      // the last event may be incomplete
      const bytes = heard.subarray(0, heard.lastIndexOf('\n\n') + 2)
      const type = response.headers.get('content-type') ?? ''
      return problemOfReply('the stream of a session', { status: response.status, type, bytes })
    },
    async close() {
      await victim.ask('DELETE', '/mcp', undefined, 'client', headers)
      stop.abort()
      await done
    }
  }
}

const configuration = (
  name: string,
  { transport, sessionMode }: Plan,
  { origin, relayPort }: HostileServer
): object => {
  const common = { name, session_mode: sessionMode }
  if (transport === 'stdio') {
    return {
      ...common,
      transport,
      command: process.execPath,
      args: [join(root, 'test/fuzz/upstream/relay.mjs'), `${relayPort}`, name]
    }
  }
  if (transport === 'sse') return { ...common, transport, url: `${origin}/${name}/sse` }
  if (transport === 'streamable_http') return { ...common, transport, url: `${origin}/${name}/mcp` }
  return { ...common, transport: 'streamable_http', url: `${origin}/${name}/guarded`, oauth_redirect_uri: redirectUri }
}

/** Registers the server, with a sign-in if the server requires one. */
async function register(victim: Victim, body: object, judge: Judge): Promise<void> {
  const reply = await victim.ask('POST', '/api/v0/servers?force=true', body)
  judge('POST /servers', reply)
  if (reply.status !== 202) return
  const { authorization_required: asked } = JSON.parse(reply.bytes.toString()) as {
    authorization_required: { session_id: string; authorization_url: string }
  }
  const state = new URL(asked.authorization_url).searchParams.get('state')
  const path = `/api/v0/upstream_oauth/sessions/${asked.session_id}`
  judge('complete', await victim.ask('POST', `${path}/complete`, { code: 'code-1', state }))
  judge('OAuth session', await victim.ask('GET', path))
}

/** Records the first problem. */
interface Judge {
  (what: string, reply: Reply): void
  fail(problem: string): void
}

interface Stage {
  readonly victim: Victim
  readonly hostile: HostileServer
  /** The server's name. */
  readonly name: string
  readonly plan: Plan
  readonly judge: Judge
  readonly session: Session | undefined
}

const overloaded = new Set([429, 503])
const legacy = (id: number, method: string) => ({ jsonrpc: '2.0', id, method })

const readable = (reply: Reply): unknown[] => {
  try {
    return valuesOf(reply)
  } catch {
    return []
  }
}

const asReply = (reply: Reply | Error): Reply => {
  if (reply instanceof Error) throw reply
  return reply
}

const ways = ['rest', 'legacy', 'modern'] as const

/** Sends one request of an MCP method, or of the equivalent REST route. */
async function send(
  { victim, judge, session }: Stage,
  way: (typeof ways)[number],
  method: string,
  params: { name?: string; uri?: string },
  rest?: [string, object]
) {
  const what = `${way} ${method} ${JSON.stringify(params)}`
  if (way === 'rest') return rest && judge(what, await victim.ask('POST', rest[0], rest[1]))
  if (way === 'legacy') {
    const body = legacyBody(method, { ...params, _meta: { progressToken: 'mine' } })
    const given = ['POST', '/mcp', body, 'client', session?.headers] as const
    // a call whose client received a server request waits for the response, which this client never sends
    if (session && params.name?.endsWith('__push')) session.mayHaveOpenQuestion = true
    if (!session?.mayHaveOpenQuestion) return judge(what, await victim.ask(...given))
    const reply = await victim.ask(...given, LEAVE_MS).catch((error: Error) => error)
    return reply instanceof Error && reply.name === 'TimeoutError' ? undefined : judge(what, asReply(reply))
  }
  const body = modernBody(method, {
    ...params,
    _meta: { 'io.modelcontextprotocol/clientCapabilities': capabilities, progressToken: 'mine' }
  })
  judge(what, await victim.ask('POST', '/mcp', body, 'client', modernHeaders(method, params.name ?? params.uri)))
}

const eachWay = async (work: (way: (typeof ways)[number]) => Promise<unknown>) => {
  for (const way of ways) await work(way)
}

const call = (way: (typeof ways)[number]) => async (stage: Stage) => {
  for (const tool of toolNames) {
    const name = `${stage.name}__${tool}`
    await send(stage, way, 'tools/call', { name, arguments: { region: 'x' } } as object, [
      '/api/v0/tools/invoke',
      { name, region: 'x' }
    ])
  }
}

/** Sends a batch together with calls of a good server, which must succeed. */
async function batch({ victim, judge, name }: Stage): Promise<void> {
  const request = (id: number, tool: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: tool, arguments: { text: 'x' } }
  })
  const bad = [request(2, `${name}__plain`), request(3, `${name}__notes`), request(4, `${name}__fail`)]
  const messages = [request(1, 'good__echo'), ...bad, legacy(5, 'tools/list'), request(6, 'good__echo')]
  const reply = await victim.ask('POST', '/mcp', JSON.stringify(messages), 'client', {
    'mcp-protocol-version': '2025-03-26'
  })
  judge('batch', reply)
  const answers = readable(reply).flat() as { id?: unknown; result?: object }[]
  const failed = [1, 5, 6].filter((id) => !answers.some((answer) => answer.id === id && answer.result))
  if (failed.length === 0 || overloaded.has(reply.status) || victim.isLate(reply)) return
  const texts = failed.map(
    (id) => `${id}: ${JSON.stringify(answers.find((answer) => answer.id === id))?.slice(0, 500)}`
  )
  judge.fail(`batch: calls of a good server failed: ${reply.status} ${texts.join(', ')}`)
}

const acts: Readonly<Record<Action, (stage: Stage) => Promise<unknown>>> = {
  refresh: async ({ victim, judge, name }) =>
    judge('refresh', await victim.ask('POST', `/api/v0/servers/${name}/refresh`)),
  'call rest': call('rest'),
  'call legacy': call('legacy'),
  'call modern': call('modern'),
  batch,
  prompt: (stage) => {
    const asked = { name: `${stage.name}__greet`, arguments: { who: 'you' } }
    return eachWay((way) => send(stage, way, 'prompts/get', asked, ['/api/v0/prompts/render', asked]))
  },
  read: (stage) => {
    const asked = { uri: `${stage.name}://note` }
    return eachWay((way) => send(stage, way, 'resources/read', asked, ['/api/v0/resources/read', asked]))
  },
  complete: (stage) => {
    const ref = { type: 'ref/prompt', name: `${stage.name}__greet` }
    return eachWay((way) =>
      send(stage, way, 'completion/complete', { ref, argument: { name: 'who', value: 'y' } } as object)
    )
  },
  subscribe: (stage) => send(stage, 'legacy', 'resources/subscribe', { uri: `${stage.name}://note` }),
  'log level': (stage) => send(stage, 'legacy', 'logging/setLevel', { level: 'debug' } as object),
  announce: async ({ hostile, name, session }) => {
    // what the server asks during the next call may reach the client as a question, and the call waits for its answer
    if (session) session.mayHaveOpenQuestion = true
    hostile.announce(name)
  },
  async switch({ victim, judge, name }) {
    for (const way of ['disable', 'enable']) judge(way, await victim.ask('POST', `/api/v0/servers/${name}/${way}`))
  },
  replace: ({ victim, hostile, name, plan, judge }) => register(victim, configuration(name, plan, hostile), judge)
}

/**
 * Performs all actions of a plan on a server of this name. Returns the problem with a response; undefined if there is
 * none.
 */
export async function perform(
  victim: Victim,
  hostile: HostileServer,
  name: string,
  plan: Plan
): Promise<string | undefined> {
  let problem: string | undefined
  const fail = (found: string | undefined) => void (problem ??= found)
  const judge: Judge = Object.assign((what: string, reply: Reply) => fail(problemOfReply(what, reply)), { fail })
  hostile.set(name, plan.beginsWell ? { ...plan, damages: [] } : plan)
  await register(victim, configuration(name, plan, hostile), judge)
  const session = await openSession(victim)
  const stage: Stage = { victim, hostile, name, plan, judge, session }
  hostile.set(name, plan)
  for (const action of plan.actions) {
    await acts[action](stage)
    if (problem !== undefined) break
  }
  judge('the server', await victim.ask('GET', `/api/v0/servers/${name}`))
  problem ??= session?.problem()
  await session?.close()
  return problem
}
