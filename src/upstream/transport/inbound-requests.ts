import { setImmediate as nextTurn } from 'node:timers/promises'
import { members, valueOf } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'
import { createPacedWork, type PacedWork } from '../../lib/paced-work.ts'
import { errorAnswer, type Answer, type InboundRequest } from './call.ts'
import { unlimitedMemory, type MemoryQuota } from './memory-quota.ts'
import { invalidRequest } from './message.ts'

/** Answers a request of the upstream; both texts are JSON. */
export type InboundRequestHandler = (method: string, params: string, inbound: InboundRequest) => Promise<Answer>

/** True for notifications to all listeners, on whichever stream they arrive. */
export const isBroadcast = (method: string) =>
  method.endsWith('/list_changed') ||
  method === 'notifications/resources/updated' ||
  method === 'notifications/elicitation/complete'

/** Pongs and refusals of one stream or pipe that wait for their turn; a server that asks for more gets none. */
const MAX_WAITING = 32

/**
 * Paces of answers on all connections: each sends for a quarter of a millisecond in a turn of the event loop, since a
 * server can ask a thousand times in one read, and over HTTP each answer is a request.
 */
interface Paces {
  /** Of handlers, which do not wait behind the others: these a server can cause in any number. */
  readonly handled: PacedWork
  /** Pongs and refusals. */
  readonly fixed: PacedWork
}

const ofProcess: Paces = { handled: createPacedWork(0.25), fixed: createPacedWork(0.25) }

/**
 * Resolves once the answers of all handlers that have ended were sent, on all connections. Call it before connections are
 * closed: an answer that waits for its turn would be lost.
 */
export async function answersSent(): Promise<void> {
  // behind the promises of handlers that have just ended
  await nextTurn()
  await new Promise<void>(ofProcess.handled)
}

const pong: Answer = { kind: 'result', body: Payload.of('{}') }
const internalError = errorAnswer(-32603, 'Internal error')
const tooMany = errorAnswer(-32603, 'Too many concurrent requests')

/** Runs a handler and answers any failure with an internal error. Never rejects. */
async function runHandler(
  handle: InboundRequestHandler,
  ...request: Parameters<InboundRequestHandler>
): Promise<Answer> {
  try {
    return await handle(...request)
  } catch {
    return internalError
  }
}

/** Requests of an upstream that wait for an answer, on one stream or pipe. */
export class InboundRequests {
  /** By JSON text of the request id. */
  readonly #open = new Map<string, InboundRequest>()
  /**
   * Handlers that run, and answers of handlers that wait for their turn. Not the size of `#open`: requests may share an
   * id, and a handler may outlive its cancelled request.
   */
  #running = 0
  #waiting = 0
  readonly #max: number
  readonly #memory: MemoryQuota
  readonly #reply: (id: string, answer: Answer) => void
  readonly #paces: Paces

  /** Tests give other `paces`. */
  constructor(
    max: number,
    reply: (id: string, answer: Answer) => void,
    memory: MemoryQuota = unlimitedMemory,
    paces: Paces = ofProcess
  ) {
    this.#max = max
    this.#reply = reply
    this.#memory = memory
    this.#paces = paces
  }

  /** Handles one request and sends its answer, unless it is cancelled first. Never rejects. */
  async handle(id: string, method: string, params: string, handle: InboundRequestHandler): Promise<void> {
    if (method === 'ping') return this.#sendFixed(id, pong)
    const bytes = params.length + id.length
    if (this.#running >= this.#max || !this.#memory.reserve(bytes)) return this.#sendFixed(id, tooMany)
    this.#running++
    const inbound: InboundRequest = { onCancel: null }
    this.#open.set(id, inbound)
    const answer = await runHandler(handle, method, params, inbound)
    this.#paces.handled(() => {
      this.#running--
      this.#memory.release(bytes)
      if (this.#open.get(id) !== inbound) return
      this.#open.delete(id)
      this.#reply(id, answer)
    })
  }

  /** Answers a request that is not valid. */
  refuse(id: string): void {
    this.#sendFixed(id, invalidRequest)
  }

  #sendFixed(id: string, answer: Answer): void {
    const bytes = id.length
    if (this.#waiting >= MAX_WAITING || !this.#memory.reserve(bytes)) return
    this.#waiting++
    this.#paces.fixed(() => {
      this.#waiting--
      this.#memory.release(bytes)
      this.#reply(id, answer)
    })
  }

  /** Handles `notifications/cancelled` with these params. */
  cancel(params: string): void {
    const id = valueOf(params, members(params), 'requestId') ?? ''
    const inbound = this.#open.get(id)
    this.#open.delete(id)
    inbound?.onCancel?.()
  }

  /** Drops all requests: no answer can be sent any more. */
  clear(): void {
    this.#open.clear()
  }
}
