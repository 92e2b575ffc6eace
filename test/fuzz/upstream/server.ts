import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { addCleanup } from '../../store.ts'
import { bytesOf } from '../message.ts'
import { createRandom } from '../random.ts'
import { damageFrame, damageHttp, damageJson, damageLine } from './damage.ts'
import {
  answerTo,
  documents,
  isModern,
  notifications,
  pushes,
  type RpcRequest,
  type ServerMessage
} from './messages.ts'
import type { Damage, Plan } from './plan.ts'

/** Servers of one fuzzer that follow their plans, over every transport. */
export interface HostileServer {
  readonly origin: string
  /** Port for relays. */
  readonly relayPort: number
  /** Sets the behaviour of `name`; undefined: well-behaved. */
  set(name: string, plan: Plan | undefined): void
  /** Sends the server's own messages to every listener. */
  announce(name: string): void
  /** Returns the changed bytes that were sent, newest last; those of the current case begin at `set`. */
  sent(name: string): readonly string[]
  close(): Promise<void>
}

interface State {
  plan: Plan | undefined
  readonly sent: string[]
  /** Listening streams, each with its framing function. */
  readonly streams: Map<Socket, (side: ServerMessage) => void>
  /** HTTP+SSE sessions. */
  readonly sessions: Map<string, Socket>
}

const MOST_SENT = 20
const SHOWN = 2_000

const lineOf = (json: string) => `${json}\n`
const frameOf = (json: string) => `event: message\ndata: ${json}\n\n`
const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n'

const parse = (body: string): RpcRequest | undefined => {
  try {
    const value = JSON.parse(body) as unknown
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

const listen = (server: Server) =>
  new Promise<number>((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))

export async function startHostile(t: TestContext): Promise<HostileServer> {
  const states = new Map<string, State>()
  const sockets = new Set<Socket>()
  let origin = ''

  const stateOf = (name: string): State => {
    const known = states.get(name) ?? { plan: undefined, sent: [], streams: new Map(), sessions: new Map() }
    states.set(name, known)
    return known
  }
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  }
  /** Applies the plan of `name` to `text`. */
  const apply = (
    name: string,
    on: string,
    text: string,
    how: Damage['how'],
    change: (seed: number, text: string) => string
  ) => {
    const { plan, sent } = stateOf(name)
    let changed = text
    for (const damage of plan?.damages ?? []) {
      if (damage.on === on && damage.how === how) changed = change(damage.seed, changed)
    }
    if (changed !== text) {
      sent.push(changed.length > SHOWN ? `${changed.slice(0, SHOWN)}… (${changed.length} bytes)` : changed)
      if (sent.length > MOST_SENT) sent.shift()
    }
    return changed
  }
  const jsonOf = (name: string, { kind, message }: ServerMessage) =>
    apply(name, kind, bytesOf(JSON.stringify(message)), 'json', (seed, text) => damageJson(createRandom(seed), text))
  const framed = (
    name: string,
    kind: string,
    text: string,
    change: (random: ReturnType<typeof createRandom>, text: string) => string
  ) => apply(name, kind, text, 'framing', (seed, given) => change(createRandom(seed), given))

  /** Returns the messages that follow a request: the server's own, then the response. */
  const reaction = (name: string, request: RpcRequest): ServerMessage[] => {
    const { method = '', params = {} } = request
    const token = (params._meta as Record<string, unknown> | undefined)?.progressToken
    const answer: ServerMessage = { kind: method, message: answerTo(name, request) }
    if (method !== 'tools/call') return [answer]
    if (params.name === 'push' && !isModern(request)) return [...pushes(), answer]
    return params.name === 'notes' ? [...notifications(name, token), answer] : [answer]
  }

  const overHttp = (name: string, request: RpcRequest, socket: Socket) => {
    const { method = '' } = request
    const { plan } = stateOf(name)
    const sides = reaction(name, request)
    const session = method === 'initialize' && plan?.hasSessions !== false ? `Mcp-Session-Id: ${randomUUID()}\r\n` : ''
    if (sides.length === 1 && !plan?.answersEvents) {
      const body = jsonOf(name, sides[0]!)
      const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${session}Content-Length: ${body.length}\r\n\r\n`
      return socket.write(
        framed(name, method, head + body, (random, text) => damageHttp(random, text, origin)),
        'latin1'
      )
    }
    const frames = sides.map((side) => framed(name, method, frameOf(jsonOf(name, side)), damageFrame))
    const head = `${EVENTS}${session}Transfer-Encoding: chunked\r\n\r\n`
    const text = `${head}${frames.map(chunkOf).join('')}0\r\n\r\n`
    socket.write(
      framed(name, `${method} stream`, text, (random, given) => damageHttp(random, given, origin)),
      'latin1'
    )
  }
  const openStream = (name: string, socket: Socket, first = '') => {
    const { streams } = stateOf(name)
    socket.write(
      framed(name, 'GET', `${EVENTS}Connection: close\r\n\r\n${first}`, (random, text) =>
        damageHttp(random, text, origin)
      ),
      'latin1'
    )
    streams.set(socket, (side) =>
      socket.write(framed(name, side.kind, frameOf(jsonOf(name, side)), damageFrame), 'latin1')
    )
    socket.on('close', () => streams.delete(socket))
  }
  const plain = (socket: Socket, status: string, headers = '') =>
    socket.write(`HTTP/1.1 ${status}\r\n${headers}Content-Length: 0\r\n\r\n`, 'latin1')

  const takeMessage = (name: string, body: string, socket: Socket) => {
    const request = parse(body)
    const { plan } = stateOf(name)
    if (!request) return plain(socket, '400 Bad Request')
    if (request.method === undefined || request.id === undefined) return plain(socket, '202 Accepted')
    if (request.method === 'subscriptions/listen') return openStream(name, socket)
    if (plan?.isModern === false && (request.method === 'server/discover' || isModern(request)))
      return plain(socket, '400 Bad Request')
    return overHttp(name, request, socket)
  }
  const document = (name: string, path: string, status: string, socket: Socket) => {
    const body = jsonOf(name, { kind: path, message: documents(`${origin}/${name}`)[path]! })
    const text = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    socket.write(
      framed(name, path, text, (random, given) => damageHttp(random, given, origin)),
      'latin1'
    )
  }
  const guard = (name: string, socket: Socket) => {
    const metadata = `${origin}/.well-known/oauth-protected-resource/${name}`
    const headers = `WWW-Authenticate: Bearer error="invalid_token", resource_metadata="${metadata}"\r\nContent-Length: 0\r\n`
    const text = `HTTP/1.1 401 Unauthorized\r\n${headers}\r\n`
    socket.write(
      framed(name, 'challenge', text, (random, given) => damageHttp(random, given, origin)),
      'latin1'
    )
  }
  const openSse = (name: string, socket: Socket) => {
    const id = randomUUID()
    const { sessions } = stateOf(name)
    sessions.set(id, socket)
    socket.on('close', () => sessions.delete(id))
    const endpoint = `event: endpoint\ndata: /${name}/message?sessionId=${id}\n\n`
    openStream(name, socket, framed(name, 'endpoint', endpoint, damageFrame))
  }
  const takeSse = (name: string, session: string | null, body: string, socket: Socket) => {
    const stream = stateOf(name).sessions.get(session ?? '')
    if (!stream) return plain(socket, '404 Not Found')
    plain(socket, '202 Accepted')
    const request = parse(body)
    if (request?.method === undefined || request.id === undefined) return
    for (const side of reaction(name, request))
      stream.write(framed(name, side.kind, frameOf(jsonOf(name, side)), damageFrame), 'latin1')
  }
  const route = async (incoming: IncomingMessage) => {
    const { socket, method, headers } = incoming
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://x')
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    // the metadata of `/<name>` is at `/.well-known/<kind>/<name>` (RFC 8414, RFC 9728)
    const [, known = '', own = ''] = /^(\/\.well-known\/[\w-]+)\/([\w-]+)/.exec(pathname) ?? []
    const [, first = '', ...rest] = pathname.split('/')
    const name = own || first
    const path = known || `/${rest.join('/')}`
    if (path === '/guarded' && headers.authorization === undefined) return guard(name, socket)
    if (path === '/mcp' || path === '/guarded') {
      if (method === 'POST') return takeMessage(name, body, socket)
      return method === 'GET' ? openStream(name, socket) : plain(socket, '200 OK')
    }
    if (path === '/sse' && method === 'GET') return openSse(name, socket)
    if (path === '/message') return takeSse(name, searchParams.get('sessionId'), body, socket)
    const isRefused = path === '/token' && stateOf(name).plan?.refusesTokens
    if (isRefused) return document(name, '/refusal', '400 Bad Request', socket)
    if (path in documents(origin)) return document(name, path, path === '/register' ? '201 Created' : '200 OK', socket)
    return plain(socket, '404 Not Found')
  }
  const http = createHttpServer((incoming) => void route(incoming).catch(() => incoming.socket.destroy()))
  http.on('connection', keep)

  const converse = (socket: Socket) => {
    let rest = ''
    let name: string | undefined
    const take = (line: string) => {
      if (name === undefined) {
        const own = (name = line)
        const { streams } = stateOf(own)
        streams.set(socket, (side) =>
          socket.write(framed(own, side.kind, lineOf(jsonOf(own, side)), damageLine), 'latin1')
        )
        return socket.on('close', () => streams.delete(socket))
      }
      const request = parse(line)
      if (request?.method === undefined || request.id === undefined) return
      if (stateOf(name).plan?.isModern === false && request.method === 'server/discover') {
        return socket.write(
          lineOf(JSON.stringify({ jsonrpc: '2.0', id: request.id, error: { code: -32601, message: 'no' } }))
        )
      }
      for (const side of reaction(name, request))
        socket.write(framed(name, side.kind, lineOf(jsonOf(name, side)), damageLine), 'latin1')
    }
    keep(socket)
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop()!
      for (const line of lines) take(line)
    })
  }
  const relays = createServer(converse)
  origin = `http://127.0.0.1:${await listen(http)}`
  const relayPort = await listen(relays)
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await Promise.all([http, relays].map((server) => new Promise((resolve) => server.close(resolve))))
  }
  addCleanup(t, close)
  return {
    origin,
    relayPort,
    set(name, plan) {
      const state = stateOf(name)
      state.plan = plan
      state.sent.length = 0
    },
    announce(name) {
      const { streams } = stateOf(name)
      for (const write of streams.values()) for (const side of [...pushes(), ...notifications(name, 1)]) write(side)
    },
    sent: (name) => stateOf(name).sent,
    close
  }
}
