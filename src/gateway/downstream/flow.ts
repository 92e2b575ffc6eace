import type { Observation } from '../observation.ts'
import type { Answer, InboundRequest, Call, UpstreamAnswer } from '../upstream/call.ts'
import { UpstreamFailure } from '../upstream/failure.ts'
import type { Abandonable, PendingQuestion } from './park.ts'
import { PendingQuestions } from './questions.ts'
import type { InputRequester, CallSink } from './sink.ts'

export const callerDisconnected = () => new UpstreamFailure('cancelled', 'the caller has left')

/** What a call comes to next: its answer, or questions of its upstream. */
export interface CallProgress {
  readonly forwarded?: UpstreamAnswer
  readonly questions?: readonly PendingQuestion[]
}

/**
 * A modern caller's call on its way, whichever request of its caller waits for the answer. A class, since there is one for
 * each call.
 */
export class PendingCall implements Abandonable, InputRequester {
  readonly call: Call
  readonly sink: CallSink
  readonly observation: Observation | null
  /** The upstream's, once there is one. */
  #questions: PendingQuestions | null = null
  #running: Promise<UpstreamAnswer> | null = null
  #isOver = false
  /** Of whoever waits; what comes first counts. */
  #resolve: ((outcome: CallProgress) => void) | null = null

  constructor(call: Call, sink: CallSink, observation: Observation | null) {
    this.call = call
    this.sink = sink
    this.observation = observation
  }

  /** `next` must follow: it takes what goes wrong, also while the call is parked. */
  start(running: Promise<UpstreamAnswer>): void {
    this.#running = running
  }

  /** Rejects as the call does. Asked for once at a time. */
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

  requestInput(method: string, params: string, asking: InboundRequest): Promise<Answer> {
    this.#questions ??= this.#createQuestions()
    return this.#questions.ask(method, params, asking)
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
    else if (resolve) questions.next((asked) => resolve({ questions: asked }))
    return questions
  }

  #end(): void {
    this.#isOver = true
    this.#questions?.close()
  }
}
