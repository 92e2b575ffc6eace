import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { STORE_STOPPED } from './failures.ts'
import type { OpenDatabase, QueryResult } from './recovery.ts'

const program = new URL(import.meta.url.endsWith('.ts') ? './store-program.mjs' : './store-program.js', import.meta.url)

type Order =
  | { readonly kind: 'open'; readonly folder: string }
  | { readonly kind: 'query'; readonly text: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'close' }

interface Answer {
  readonly id: number
  readonly value?: unknown
  /** Members of the error, with its name and message. */
  readonly error?: object
}

interface Waiting {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/**
 * Delays WASM optimisation to the default of newer V8 (Node 24), since code that runs once is not worth optimising.
 * Saves a tenth of the opening time on Node 20, and nothing gets slower.
 */
const delayWasmOptimisation = () => setFlagsFromString('--wasm-tiering-budget=13000000')

/** A view of a large buffer would be sent with all of the buffer. */
const compact = (value: unknown): unknown =>
  value instanceof Uint8Array && value.byteLength < value.buffer.byteLength ? Uint8Array.from(value) : value

/** The embedded PostgreSQL in a thread of its own: its statements take milliseconds and cannot be interrupted. */
class StoreThread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #ended: Error | undefined
  #last = 0

  constructor() {
    delayWasmOptimisation()
    this.#worker = new Worker(program, { execArgv: [], env: {} })
    // ends with the process: PostgreSQL recovers from that as from a crash
    this.#worker.unref()
    this.#worker.on('message', (answer: Answer) => this.#settle(answer))
    this.#worker.on('error', (error) => this.#end(error))
    this.#worker.on('exit', () => this.#end(new Error('its thread has ended')))
  }

  /** Opens the store of a folder, once; closing it ends the thread. Rejects with the error of PostgreSQL. */
  async open(folder: string): Promise<OpenDatabase> {
    const terminate = () => this.terminate()
    const closeStore = () => this.#ask({ kind: 'close' })
    try {
      await this.#ask({ kind: 'open', folder })
    } catch (error) {
      await terminate()
      throw error
    }
    return {
      query: (text, parameters) => this.#ask<QueryResult>({ kind: 'query', text, parameters: parameters.map(compact) }),
      async close() {
        await closeStore()
        await terminate()
      },
      terminate
    }
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate()
  }

  #ask<T>(order: Order): Promise<T> {
    if (this.#ended) return Promise.reject(this.#ended)
    return new Promise<T>((resolve, reject) => {
      const id = ++this.#last
      this.#worker.postMessage({ id, ...order })
      this.#waiting.set(id, { resolve, reject })
      // a process that waits for an answer stays alive
      this.#worker.ref()
    })
  }

  #settle({ id, value, error }: Answer): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#worker.unref()
    if (error === undefined) waiting?.resolve(value as never)
    else waiting?.reject(Object.assign(new Error(), error))
  }

  #end(cause: Error): void {
    this.#ended ??= Object.assign(new Error(`the embedded store has stopped: ${cause.message}`, { cause }), {
      code: STORE_STOPPED
    })
    for (const { reject } of this.#waiting.values()) reject(this.#ended)
    this.#waiting.clear()
  }
}

/** Starts a thread for one embedded store; it loads PostgreSQL at once. */
export const startStoreThread = (): StoreThread => new StoreThread()

export type { StoreThread }
