import { JsonError, members, readValue, valueOf } from '../../json/json.ts'
import { codes, idText } from '../../protocol/jsonrpc.ts'
import { errorText, responseText } from '../../protocol/jsonrpc-text.ts'
import { EndpointFailure } from './endpoint-failure.ts'

/** Depth of JSON in messages of the gateway, which may be deeper than what it accepts. */
const limits = { depth: 1_000, elements: Infinity }

export interface ReceivedMessage {
  readonly kind: 'result' | 'error' | 'other'
  /** Empty unless the message is a request or a notification. */
  readonly method: string
  /** Message for the client; undefined if it no longer waits for it. */
  readonly forwarded: Buffer | undefined
}

/** The requests of one HTTP request, one or a batch, and which of them have no response yet. */
export class OpenRequests {
  readonly #open: Set<string>
  readonly #cancelled = new Set<string>()
  readonly #isBatch: boolean

  /** `ids`: JSON texts. */
  constructor(ids: readonly string[], isBatch = false) {
    this.#open = new Set(ids)
    this.#isBatch = isBatch
  }

  get isDone(): boolean {
    return this.#open.size === 0
  }

  /** True if the client cancelled a request and waits for no other. */
  get isCancelled(): boolean {
    return this.isDone && this.#cancelled.size > 0
  }

  /** Stops waiting for the response to a request. */
  cancel(id: string): void {
    if (this.#open.delete(id)) this.#cancelled.add(id)
  }

  /** Takes a message that the gateway sent in response. Throws EndpointFailure if it is not JSON. */
  receive(message: Buffer): ReceivedMessage {
    const text = message.toString()
    try {
      return this.#receive(message, text)
    } catch (cause) {
      if (!(cause instanceof JsonError || cause instanceof SyntaxError)) throw cause
      throw new EndpointFailure('bad_response', 'the gateway sent a message that is not JSON', { cause })
    }
  }

  #receive(message: Buffer, text: string): ReceivedMessage {
    if (/^\s*\[/.test(text)) {
      this.#open.clear()
      return { kind: 'result', method: '', forwarded: message }
    }
    const found = members(text, 0, limits)
    const member = (key: string) => found.find((each) => each.key === key)
    const method = member('method')
    if (method) return { kind: 'other', method: String(readValue(text, method)), forwarded: message }
    const given = member('id')
    const id = idText(text, found, 'id', given && readValue(text, given))
    const error = valueOf(text, found, 'error')
    const kind = error === undefined ? 'result' : 'error'
    if (this.#cancelled.has(id)) return { kind, method: '', forwarded: undefined }
    const [only] = this.#open
    if (id === 'null' && error !== undefined && only !== undefined) {
      // the gateway could not read the id, and the client would wait forever for an error with it
      const named = this.#isBatch ? message : Buffer.from(responseText(only, 'error', error))
      this.#open.clear()
      return { kind, method: '', forwarded: named }
    }
    this.#open.delete(id)
    return { kind, method: '', forwarded: message }
  }

  /** Returns the responses to the requests that are still open, one message for each, and closes them. */
  fail({ message, reason, status }: EndpointFailure): string[] {
    const data = { reason, ...(status === undefined ? {} : { status }) }
    const errors = [...this.#open].map((id) => errorText(id, codes.internal, message, data))
    this.#open.clear()
    return this.#isBatch && errors.length > 0 ? [`[${errors.join(',')}]`] : errors
  }
}
