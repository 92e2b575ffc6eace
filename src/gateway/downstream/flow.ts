import type { Observation } from '../observation.ts'
import type { Answer, Asking, Call } from '../upstream/call.ts'
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
  #forwarded: Forwarded | null = null
  #failure: unknown = undefined
  #isOver = false
  #resolve: ((outcome: Outcome) => void) | null = null
  #reject: ((error: unknown) => void) | null = null

  constructor(call: Call, sink: CallSink, observation: Observation | null) {
    this.call = call
    this.sink = sink
    this.observation = observation
  }

  /** While the call is parked nobody may be waiting for it. */
  start(running: Promise<Forwarded>): void {
    running.then(
      (forwarded) => this.#end(forwarded, undefined),
      (error: unknown) => this.#end(null, error)
    )
  }

  /** Rejects as the call does. Asked for once at a time. */
  next(): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      if (this.#isOver) this.#tell()
      else if (this.#questions) this.#hear(this.#questions)
    })
  }

  ask(method: string, params: string, asking: Asking): Promise<Answer> {
    this.#questions ??= this.#createQuestions()
    return this.#questions.ask(method, params, asking)
  }

  abandon(): void {
    this.#questions?.close()
    this.call.stop(callerLeft())
    this.observation?.failed(callerLeft())
  }

  #createQuestions(): Questions {
    const questions = new Questions()
    if (this.#isOver) questions.close()
    else if (this.#resolve) this.#hear(questions)
    return questions
  }

  #hear(questions: Questions): void {
    questions.next((asked) => {
      const resolve = this.#resolve
      this.#resolve = null
      this.#reject = null
      resolve?.({ questions: asked })
    })
  }

  #end(forwarded: Forwarded | null, failure: unknown): void {
    this.#forwarded = forwarded
    this.#failure = failure
    this.#isOver = true
    this.#questions?.close()
    this.#tell()
  }

  #tell(): void {
    const resolve = this.#resolve
    const reject = this.#reject
    this.#resolve = null
    this.#reject = null
    if (this.#forwarded) resolve?.({ forwarded: this.#forwarded })
    else reject?.(this.#failure)
  }
}
