import type { Observation } from '../../observe/observation.ts'
import type { Answer, InboundRequest, Call, UpstreamAnswer } from '../../upstream/transport/call.ts'
import { callerDisconnected } from '../../protocol/upstream-failure.ts'
import type { Abandonable, PendingQuestion } from './input-required-store.ts'
import { PendingQuestions } from './pending-questions.ts'
import type { InputRequester, CallSink } from './call-sink.ts'

/** Next event of a call: its response, or questions of its upstream. */
export interface CallProgress {
  readonly forwarded?: UpstreamAnswer
  readonly questions?: readonly PendingQuestion[]
}

/**
 * A modern caller's call, independent of the HTTP request that currently waits for it. A class because every call
 * creates one.
 */
export class PendingCall implements Abandonable, InputRequester {
  readonly call: Call
  readonly sink: CallSink
  readonly observation: Observation | null
  /** The upstream's questions; null until the first one. */
  #questions: PendingQuestions | null = null
  #running: Promise<UpstreamAnswer> | null = null
  #isOver = false
  /** Resolves the current waiter's promise. */
  #resolve: ((outcome: CallProgress) => void) | null = null

  constructor(call: Call, sink: CallSink, observation: Observation | null) {
    this.call = call
    this.sink = sink
    this.observation = observation
  }

  /** Sets the running call. `next` must be called afterwards: it handles rejections, also while the call is parked. */
  start(running: Promise<UpstreamAnswer>): void {
    this.#running = running
  }

  /** Resolves with the next event and rejects as the call does. One caller at a time. */
  next(): Promise<CallProgress> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#running!.then(
        (forwarded) => {
          this.#end()
          resolve({ forwarded })
        },
        (error: unknown) => {
          this.#end()
          reject(error as Error)
        }
      )
      this.#questions?.next((questions) => resolve({ questions }))
    })
  }

  requestInput(method: string, params: string, inbound: InboundRequest): Promise<Answer> {
    this.#questions ??= this.#createQuestions()
    return this.#questions.ask(method, params, inbound)
  }

  abandon(): void {
    this.#questions?.close()
    this.call.stop(callerDisconnected())
    this.observation?.fail(callerDisconnected())
  }

  #createQuestions(): PendingQuestions {
    const questions = new PendingQuestions()
    const resolve = this.#resolve
    if (this.#isOver) questions.close()
    else if (resolve) questions.next((delivered) => resolve({ questions: delivered }))
    return questions
  }

  #end(): void {
    this.#isOver = true
    this.#questions?.close()
  }
}
