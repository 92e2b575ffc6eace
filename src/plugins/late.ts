import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../errors.ts'

export interface LateOptions {
  /** May be called again after a failure with 503: then it has left nothing open. */
  readonly open: () => Promise<void>
  /** How long a start waits for it; where it takes longer, it goes on beside what is served. */
  readonly patienceMs: number
  /** Told after the first failure of many. */
  readonly onWait: (error: AppError) => void
  /** It failed for good after the start had gone on. */
  readonly onFailure: (error: unknown) => void
}

export interface Late {
  /** Resolves when the start may go on; rejects for what waiting does not cure. */
  readonly started: Promise<void>
  /** Ends the attempts. */
  close(): Promise<void>
}

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2_000

const passes = (error: unknown): error is AppError => error instanceof AppError && error.statusCode === 503

/** Opens what may not be there yet, again and again until it is. */
export function openLate({ open, patienceMs, onWait, onFailure }: LateOptions): Late {
  const stop = new AbortController()
  const { signal } = stop
  let isLate = false
  let goOn = () => {}

  const attempts = async () => {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        return await open()
      } catch (error) {
        if (!passes(error)) throw error
        if (failures === 0) onWait(error)
      }
      goOn()
      const wait = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2)
      await delay(wait, undefined, { signal }).catch(() => {})
    }
  }
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = () => {
      isLate = true
      resolve()
    }
  })
  const patience = setTimeout(() => goOn(), patienceMs)
  const running = attempts().finally(() => clearTimeout(patience))
  running.catch((error: unknown) => {
    if (isLate && !signal.aborted) onFailure(error)
  })
  return {
    started: Promise.race([running, mayGoOn]),
    async close() {
      stop.abort()
      await running.catch(() => {})
    }
  }
}

/** What is made later, if it is there by now. */
export function ifThere<T>(get: () => T): T | undefined {
  try {
    return get()
  } catch (error) {
    if (passes(error)) return undefined
    throw error
  }
}

/** Stands for what is made later; whoever uses it before is told to come back. */
export const standIn = <T extends object>(get: () => T): T =>
  new Proxy({} as T, { get: (_target, name): unknown => Reflect.get(get(), name) })
