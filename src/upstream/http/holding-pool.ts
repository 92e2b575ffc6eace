import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher, Pool as UndiciPool } from 'undici'
import { Pool } from './undici-parts.ts'

/** Requests whose response is not read for a while, by connection. */
const holders = new WeakMap<Socket, HeldResponse>()
/** Connection that was read last: undici parses each chunk before it reads the next. */
let lastRead: Socket | null = null
let isParsing = false

/** Lets a connection be held: undici finds nothing to read, and its end comes behind what it still holds. */
function makeHoldable(socket: Socket): void {
  const { read } = socket
  socket.read = (size) => {
    // a size of 0 reads nothing but fills the buffer, up to its limit
    if (size !== 0 && holders.has(socket)) return null
    const chunk: unknown = read.call(socket, size)
    if (chunk !== null) lastRead = socket
    return chunk
  }
}

const CUT = 'the connection was reset before the end of the response'

function parse<T>(handle: () => T): T {
  const was = isParsing
  isParsing = true
  try {
    return handle()
  } finally {
    isParsing = was
  }
}

/** Handler that undici sees. It never pauses the parser, but holds the connection instead. */
class HeldResponse implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler
  #socket: Socket | null = null

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler
  }

  onConnect(abort: (error?: Error) => void): void {
    parse(() => this.#handler.onConnect?.(abort))
  }

  onHeaders(status: number, headers: Buffer[], _resume: () => void, text: string): boolean {
    this.#socket = lastRead
    return this.#hold(parse(() => this.#handler.onHeaders!(status, headers, this.#release, text)))
  }

  onData(chunk: Buffer): boolean {
    return this.#hold(parse(() => this.#handler.onData!(chunk)))
  }

  onComplete(trailers: string[]): void {
    // for undici a reset ends a response of unknown length, also while some of it is held
    const isCut = this.#forget() && this.#socket!.destroyed && this.#socket!.readableLength > 0
    parse(() => (isCut ? this.#handler.onError?.(new Error(CUT)) : this.#handler.onComplete?.(trailers)))
  }

  onError(error: Error): void {
    this.#forget()
    parse(() => this.#handler.onError?.(error))
  }

  /** Holds the connection if the handler wants no more for now. Returns true: undici is to go on. */
  #hold(goesOn: boolean): true {
    if (goesOn === false && this.#socket) holders.set(this.#socket, this)
    return true
  }

  #forget(): boolean {
    return this.#socket !== null && holders.get(this.#socket) === this && holders.delete(this.#socket)
  }

  readonly #release = (): void => {
    // undici parses one response at a time, also of different connections
    if (isParsing) queueMicrotask(this.#release)
    else if (this.#forget()) this.#socket!.emit('readable')
  }
}

export type HoldingPoolOptions = UndiciPool.Options & { readonly connect: buildConnector.connector }

/**
 * Pool whose handlers may return false from `onData`, as with undici's: the connection is read on once `resume` is
 * called. A paused parser of undici 7 would end the process when the server closes the connection (nodejs/undici#5360),
 * and would copy all that the socket holds for each pause. What has been read of the socket is still delivered.
 */
export class HoldingPool extends Pool {
  constructor(origin: string | URL, options: HoldingPoolOptions) {
    const connect: buildConnector.connector = (target, done) =>
      options.connect(target, (...result) => {
        if (result[1]) makeHoldable(result[1])
        done(...result)
      })
    super(origin, { ...options, connect })
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, new HeldResponse(handler))
  }
}
