import { errorAnswer, type Answer, type InboundRequest } from '../upstream/call.ts'
import { failQuestions, type PendingQuestion } from './park.ts'

/** Requests that an upstream sends at once arrive one by one; so long they are gathered (mcp-proxy.md#parked-calls). */
const GATHER_MS = 25

const withdrawnAnswer = errorAnswer(-32603, 'the question was withdrawn')

/** What an upstream asks of a modern caller in the course of one call. */
export class PendingQuestions {
  /** Asked and not yet answered. */
  readonly #open = new Set<PendingQuestion>()
  #undelivered: PendingQuestion[] = []
  #timer: NodeJS.Timeout | null = null
  #onQuestions: ((questions: readonly PendingQuestion[]) => void) | null = null
  #isClosed = false

  /** Asks; resolves when the caller has come back with the answer, is given up, or the upstream takes the question back. */
  ask(method: string, params: string, asking?: InboundRequest): Promise<Answer> {
    return new Promise((resolve) => {
      const answer = (given: Answer) => {
        this.#open.delete(question)
        resolve(given)
      }
      const question: PendingQuestion = { method, params, answer }
      if (this.#isClosed) return failQuestions([question])
      if (asking) asking.onCancel = () => this.#withdraw(question)
      this.#open.add(question)
      this.#undelivered.push(question)
      this.#timer ??= setTimeout(() => this.#endGathering(), GATHER_MS)
    })
  }

  /** Tells the next questions once, when there are any: also those that came while nobody waited. */
  next(onQuestions: (questions: readonly PendingQuestion[]) => void): void {
    this.#onQuestions = onQuestions
    if (!this.#timer) this.#flush()
  }

  /** The call is over: nobody will be asked, now or later. */
  close(): void {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#undelivered = []
    failQuestions([...this.#open])
  }

  /** Who has not been asked yet is not; an answer that comes all the same goes nowhere. */
  #withdraw(question: PendingQuestion): void {
    question.isWithdrawn = true
    this.#undelivered = this.#undelivered.filter((waiting) => waiting !== question)
    question.answer(withdrawnAnswer)
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
