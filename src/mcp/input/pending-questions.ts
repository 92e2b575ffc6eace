import { errorAnswer, type Answer, type InboundRequest } from '../../upstream/transport/call.ts'
import { failQuestions, type PendingQuestion } from './input-required-store.ts'

/** Time to collect requests that an upstream sends together but that arrive one by one (mcp-proxy.md#parked-calls). */
const GATHER_MS = 25

const cancelledAnswer = errorAnswer(-32603, 'the request for input was cancelled')

/** An upstream's requests to a modern caller during one call. */
export class PendingQuestions {
  /** Requests not answered yet. */
  readonly #open = new Set<PendingQuestion>()
  #undelivered: PendingQuestion[] = []
  #timer: NodeJS.Timeout | null = null
  #onQuestions: ((questions: readonly PendingQuestion[]) => void) | null = null
  #isClosed = false

  /**
   * Queues a request. Resolves with the caller's answer, or with an error if the caller does not return or the upstream
   * cancels the request.
   */
  ask(method: string, params: string, inbound?: InboundRequest): Promise<Answer> {
    return new Promise((resolve) => {
      const answer = (given: Answer) => {
        this.#open.delete(question)
        resolve(given)
      }
      const question: PendingQuestion = { method, params, answer }
      if (this.#isClosed) return failQuestions([question])
      if (inbound) inbound.onCancel = () => this.#cancel(question)
      this.#open.add(question)
      this.#undelivered.push(question)
      this.#timer ??= setTimeout(() => this.#endGathering(), GATHER_MS)
    })
  }

  /** Calls `onQuestions` once with the next questions, including those queued before this call. */
  next(onQuestions: (questions: readonly PendingQuestion[]) => void): void {
    this.#onQuestions = onQuestions
    if (!this.#timer) this.#flush()
  }

  /** Ends the call: open and later questions fail. */
  close(): void {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#undelivered = []
    failQuestions([...this.#open])
  }

  /** Removes a question that was not delivered yet; a later answer to a delivered one is ignored. */
  #cancel(question: PendingQuestion): void {
    question.isCancelled = true
    this.#undelivered = this.#undelivered.filter((waiting) => waiting !== question)
    question.answer(cancelledAnswer)
  }

  #endGathering(): void {
    this.#timer = null
    this.#flush()
  }

  #flush(): void {
    if (!this.#onQuestions || this.#undelivered.length === 0) return
    const onQuestions = this.#onQuestions
    const questions = this.#undelivered
    this.#onQuestions = null
    this.#undelivered = []
    onQuestions(questions)
  }
}
