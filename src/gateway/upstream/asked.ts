import { members, valueOf } from '../json.ts'
import { Payload } from '../payload.ts'
import { errorAnswer, type Answer, type InboundRequest } from './call.ts'
import { uncounted, type Pending } from './pending.ts'

/** Answers a request of the upstream's; both texts are JSON. */
export type RequestHandler = (method: string, params: string, asking: InboundRequest) => Promise<Answer>

/** Notifications that are for everybody who listens, whichever stream they come on. */
export const isBroadcast = (method: string) =>
  method.endsWith('/list_changed') ||
  method === 'notifications/resources/updated' ||
  method === 'notifications/elicitation/complete'

const pong: Answer = { kind: 'result', body: Payload.of('{}') }
const internalError = errorAnswer(-32603, 'Internal error')
const tooMany = errorAnswer(-32603, 'Too many requests at a time')

/** Never rejects, whichever way the handler fails. */
async function handled(handle: RequestHandler, ...request: Parameters<RequestHandler>): Promise<Answer> {
  try {
    return await handle(...request)
  } catch {
    return internalError
  }
}

/** The requests of an upstream that still want an answer, on one stream or pipe. */
export class Asked {
  /** By the JSON text of their ids. */
  readonly #open = new Map<string, InboundRequest>()
  /** Handlers that have not answered: requests may share an id, or be withdrawn from handlers that go on. */
  #running = 0
  readonly #max: number
  readonly #pending: Pending
  readonly #reply: (id: string, answer: Answer) => void

  constructor(max: number, reply: (id: string, answer: Answer) => void, pending: Pending = uncounted) {
    this.#max = max
    this.#reply = reply
    this.#pending = pending
  }

  /** Never rejects. What is withdrawn meanwhile gets no answer. */
  async take(id: string, method: string, params: string, handle: RequestHandler): Promise<void> {
    if (method === 'ping') return this.#reply(id, pong)
    const bytes = params.length + id.length
    if (this.#running >= this.#max || !this.#pending.take(bytes)) return this.#reply(id, tooMany)
    this.#running++
    const asking: InboundRequest = { onCancel: null }
    this.#open.set(id, asking)
    const answer = await handled(handle, method, params, asking)
    this.#running--
    this.#pending.give(bytes)
    if (this.#open.get(id) !== asking) return
    this.#open.delete(id)
    this.#reply(id, answer)
  }

  /** The upstream has sent `notifications/cancelled` with these params. */
  withdraw(params: string): void {
    const id = valueOf(params, members(params), 'requestId') ?? ''
    const asking = this.#open.get(id)
    this.#open.delete(id)
    asking?.onCancel?.()
  }

  /** Nobody can be answered any more. */
  clear(): void {
    this.#open.clear()
  }
}
