import { once } from 'node:events'
import { unlinkSync } from 'node:fs'
import { Agent, createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { ownerOf } from '../domain/worker-ids.ts'
import { noop } from '../lib/noop.ts'
import { boundConnections } from './connections.ts'
import { forwardExchange, PEER_HEADER, type Exchange } from './forwarding.ts'

/** Place of a worker among those that serve one port. */
export interface WorkerPlace {
  readonly index: number
  readonly count: number
  /** Private folder with the sockets on which workers reach each other. */
  readonly folder: string
}

/** An exchange for the worker that owns an id. */
export type OwnedExchange = Omit<Exchange, 'socketPath' | 'agent'> & { readonly id: string }

/** The other workers that serve the same port. */
export interface Siblings {
  readonly place: WorkerPlace
  /** Tests if requests with this id are served here. */
  owns(id: string): boolean
  /** True if another worker forwarded the request, which is then served here in any case. */
  isFromSibling(request: IncomingMessage): boolean
  /** Returns the address that the connection of a request came from. */
  peerOf(request: IncomingMessage): string | undefined
  /** Lets the owner of the id answer. */
  forward(exchange: OwnedExchange): void
  /** Answers what the other workers ask under this name. */
  answer(name: string, read: () => string | Promise<string>): void
  /** Returns the answers of the other workers by index, without those that do not answer in time. */
  ask(name: string): Promise<ReadonlyMap<number, string>>
  /** Starts to take requests of the other workers. */
  listen(serve: (request: IncomingMessage, response: ServerResponse) => void): Promise<void>
  /** Closes the connections on which the other workers read nothing. */
  closeStalled(): void
  close(): void
}

export type SiblingOptions = Pick<Config['limits'], 'headerBytes' | 'unsentBytes' | 'unreadAnswerMs'>

/** Room for the header that a forwarded request has in addition. */
const OWN_HEADER_BYTES = 1_024
const MAX_IDLE_SOCKETS = 64
const ASK_MS = 2_000
const MAX_ANSWER_BYTES = 67_108_864
/** Paths of questions between workers; no path of the gateway begins so, and forwarded requests keep theirs. */
const QUESTION = '/-/'

const unlinkIfPresent = (path: string) => {
  try {
    unlinkSync(path)
  } catch {
    // the first worker at this place
  }
}

/** Sends a question to one worker. Rejects if it does not answer in time. */
function askOne(socketPath: string, name: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const out = send({ socketPath, agent, path: QUESTION + name, signal: AbortSignal.timeout(ASK_MS) }, (response) => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        length += chunk.length
        if (length > MAX_ANSWER_BYTES) return void response.destroy(new Error('the answer is too long'))
        chunks.push(chunk)
      })
      response.on('error', reject).once('end', () => resolve(Buffer.concat(chunks).toString()))
      if (response.statusCode !== 200) response.destroy(new Error(`status ${response.statusCode}`))
    })
    out.on('error', reject).end()
  })
}

/** Creates what one worker needs to reach the others, and to be reached. */
export function createSiblings(place: WorkerPlace, { headerBytes, ...limits }: SiblingOptions): Siblings {
  const { index, count, folder } = place
  const agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_IDLE_SOCKETS })
  const sockets = new WeakSet<Socket>()
  const answers = new Map<string, () => string | Promise<string>>()
  const pathOf = (worker: number) => join(folder, String(worker))
  // the worker that took the connection of the client limits the time in which a request arrives
  const server = createServer({
    maxHeaderSize: headerBytes + OWN_HEADER_BYTES,
    requestTimeout: 0,
    headersTimeout: 0,
    keepAliveTimeout: 0,
    requireHostHeader: false
  })
  server.on('connection', (socket) => sockets.add(socket))
  server.on('clientError', (_error, socket) => socket.destroy())
  // the clients behind these connections were counted where they connected
  const connections = boundConnections(server, {
    ...limits,
    connections: Infinity,
    connectionsPerAddress: Infinity,
    addresses: { isProxy: () => true },
    onLimit: noop
  })
  const reply = async (name: string, response: ServerResponse) => {
    const read = answers.get(name)
    try {
      if (!read) return void response.writeHead(404).end()
      response.end(await read())
    } catch {
      response.writeHead(503).end()
    }
  }
  const isFromSibling = ({ socket }: IncomingMessage) => sockets.has(socket)

  return {
    place,
    owns: (id) => ownerOf(id, count) === index,
    isFromSibling,
    peerOf(request) {
      if (!isFromSibling(request)) return request.socket.remoteAddress
      const peer = request.headers[PEER_HEADER]
      return typeof peer === 'string' ? peer : undefined
    },
    forward: ({ id, ...exchange }) => forwardExchange({ ...exchange, agent, socketPath: pathOf(ownerOf(id, count)) }),
    answer: (name, read) => void answers.set(name, read),
    async ask(name) {
      const others = Array.from({ length: count }, (_, worker) => worker).filter((worker) => worker !== index)
      const asked = await Promise.allSettled(others.map((worker) => askOne(pathOf(worker), name, agent)))
      return new Map(
        asked.flatMap((one, at) => (one.status === 'fulfilled' ? [[others[at]!, one.value] as const] : []))
      )
    },
    async listen(serve) {
      server.on('request', (request, response) => {
        const { url = '' } = request
        if (url.startsWith(QUESTION)) void reply(url.slice(QUESTION.length), response)
        else serve(request, response)
      })
      // left behind by a worker that was killed
      unlinkIfPresent(pathOf(index))
      // the socket is this worker's alone; without `exclusive` the primary process would open and share it
      server.listen({ path: pathOf(index), exclusive: true })
      await once(server, 'listening')
    },
    closeStalled: connections.closeStalled,
    close() {
      connections.close()
      server.close()
      server.closeAllConnections()
      agent.destroy()
    }
  }
}
