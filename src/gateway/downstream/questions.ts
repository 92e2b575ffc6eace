import { errorAnswer, type Answer, type InboundRequest } from '../upstream/call.ts'
import { giveUp, type Question } from './park.ts'

/** Requests that an upstream sends at once arrive one by one; so long they are gathered (mcp-proxy.md#parked-calls). */
const GATHER_MS = 25

const withdrawn = errorAnswer(-32603, 'the question was withdrawn')

/** What an upstream asks of a modern caller in the course of one call. */
export class Questions {
  /** Asked and not yet answered. */
  readonly #open = new Set<Question>()
  #waiting: Question[] = []
  #timer: NodeJS.Timeout | null = null
  #deliver: ((questions: readonly Question[]) => void) | null = null
  #isClosed = false

  /** Asks; resolves when the caller has come back with the answer, is given up, or the upstream takes the question back. */
  ask(method: string, params: string, asking?: InboundRequest): Promise<Answer> {
    return new Promise((resolve) => {
      const answer = (given: Answer) => {
        this.#open.delete(question)
        resolve(given)
      }
      const question: Question = { method, params, answer }
      if (this.#isClosed) return giveUp([question])
      if (asking) asking.onCancel = () => this.#withdraw(question)
      this.#open.add(question)
      this.#waiting.push(question)
      this.#timer ??= setTimeout(() => this.#gathered(), GATHER_MS)
    })
  }

  /** Tells the next questions once, when there are any: also those that came while nobody waited. */
  next(deliver: (questions: readonly Question[]) => void): void {
    this.#deliver = deliver
    if (!this.#timer) this.#flush()
  }

  /** The call is over: nobody will be asked, now or later. */
  close(): void {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#waiting = []
    giveUp([...this.#open])
  }

  /** Who has not been asked yet is not; an answer that comes all the same goes nowhere. */
  #withdraw(question: Question): void {
    question.isWithdrawn = true
    this.#waiting = this.#waiting.filter((waiting) => waiting !== question)
    question.answer(withdrawn)
  }

  #gathered(): void {
    this.#timer = null
    this.#flush()
  }

  #flush(): void {
    if (!this.#deliver || this.#waiting.length === 0) return
    const deliver = this.#deliver
    const questions = this.#waiting
    this.#deliver = null
    this.#waiting = []
    deliver(questions)
  }
}
