import type { Answer } from '../upstream/call.ts'
import type { Question } from './park.ts'

/** Requests that an upstream sends at once arrive one by one; so long they are gathered (proxy page 5.1). */
const GATHER_MS = 25

/** What an upstream asks of a modern caller in the course of one call. */
export class Questions {
  #waiting: Question[] = []
  #timer: NodeJS.Timeout | null = null
  #deliver: ((questions: readonly Question[]) => void) | null = null

  /** Asks; resolves when the caller has come back with the answer, or is given up. */
  ask(method: string, params: string): Promise<Answer> {
    return new Promise((resolve) => {
      this.#waiting.push({ method, params, answer: resolve })
      this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS)
    })
  }

  /** Resolves with the next questions, once there are any. One waits at a time. */
  next(): Promise<readonly Question[]> {
    return new Promise((resolve) => {
      this.#deliver = resolve
    })
  }

  #flush(): void {
    this.#timer = null
    const questions = this.#waiting
    this.#waiting = []
    this.#deliver?.(questions)
    this.#deliver = null
  }
}
