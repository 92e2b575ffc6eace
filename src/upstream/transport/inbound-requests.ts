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

/** Answers of one stream or pipe that wait for their turn; a server that asks for more gets no answer. */
const MAX_WAITING = 256

/**
 * Sends answers of all connections for a quarter of a millisecond in a turn of the event loop: a server can ask a
 * thousand times in one read, and over HTTP each answer is a request.
 */
const paceAnswer = createPacedWork(0.25)

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
   * Handlers still running. Not the size of `#open`: requests may share an id, and a handler may outlive its cancelled
   * request.
   */
  #running = 0
  #waiting = 0
  readonly #max: number
  readonly #memory: MemoryQuota
  readonly #reply: (id: string, answer: Answer) => void

  readonly #pace: PacedWork

  /** Tests give another `pace`. */
  constructor(
    max: number,
    reply: (id: string, answer: Answer) => void,
    memory: MemoryQuota = unlimitedMemory,
    pace: PacedWork = paceAnswer
  ) {
    this.#max = max
    this.#reply = reply
    this.#memory = memory
    this.#pace = pace
  }

  /** Handles one request and sends its answer, unless it is cancelled first. Never rejects. */
  async handle(id: string, method: string, params: string, handle: InboundRequestHandler): Promise<void> {
    if (method === 'ping') return this.#send(id, pong)
    const bytes = params.length + id.length
    if (this.#running >= this.#max || !this.#memory.reserve(bytes)) return this.#send(id, tooMany)
    this.#running++
    const inbound: InboundRequest = { onCancel: null }
    this.#open.set(id, inbound)
    const answer = await runHandler(handle, method, params, inbound)
    this.#running--
    this.#memory.release(bytes)
    if (this.#open.get(id) !== inbound) return
    this.#open.delete(id)
    this.#send(id, answer)
  }

  /** Answers a request that is not valid. */
  refuse(id: string): void {
    this.#send(id, invalidRequest)
  }

  #send(id: string, answer: Answer): void {
    const bytes = id.length
    if (this.#waiting >= MAX_WAITING || !this.#memory.reserve(bytes)) return
    this.#waiting++
    this.#pace(() => {
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
