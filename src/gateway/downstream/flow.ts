import type { Observation } from '../observation.ts'
import type { Answer, InboundRequest, Call } from '../upstream/call.ts'
import { UpstreamFailure } from '../upstream/failure.ts'
import type { Forwarded } from './exchange.ts'
import type { Abandonable, Question } from './park.ts'
import { Questions } from './questions.ts'
import type { Asker, CallSink } from './sink.ts'

export const callerLeft = () => new UpstreamFailure('cancelled', 'the caller has left')

/** What a call comes to next: its answer, or questions of its upstream. */
export interface Outcome {
  readonly forwarded?: Forwarded
  readonly questions?: readonly Question[]
}

/**
 * A modern caller's call on its way, whichever request of its caller waits for the answer. A class, since there is one for
 * each call.
 */
export class Flow implements Abandonable, Asker {
  readonly call: Call
  readonly sink: CallSink
  readonly observation: Observation | null
  /** The upstream's, once there is one. */
  #questions: Questions | null = null
  #running: Promise<Forwarded> | null = null
  #isOver = false
  /** Of whoever waits; what comes first counts. */
  #resolve: ((outcome: Outcome) => void) | null = null

  constructor(call: Call, sink: CallSink, observation: Observation | null) {
    this.call = call
    this.sink = sink
    this.observation = observation
  }

  /** `next` must follow: it takes what goes wrong, also while the call is parked. */
  start(running: Promise<Forwarded>): void {
    this.#running = running
  }

  /** Rejects as the call does. Asked for once at a time. */
  next(): Promise<Outcome> {
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

  ask(method: string, params: string, asking: InboundRequest): Promise<Answer> {
    this.#questions ??= this.#createQuestions()
    return this.#questions.ask(method, params, asking)
  }

  abandon(): void {
    this.#questions?.close()
    this.call.stop(callerLeft())
    this.observation?.fail(callerLeft())
  }

  #createQuestions(): Questions {
    const questions = new Questions()
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
