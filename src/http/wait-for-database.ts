import { retryForever, type Backoff, type BackoffPolicy } from '../lib/backoff.ts'
import { AppError } from '../lib/errors.ts'

export interface RetryOptions {
  /** Called again after a 503 AppError, after which it must have left nothing open. */
  readonly open: () => Promise<void>
  /** Called after the first failure only. */
  readonly onRetry: (error: AppError) => void
  /** Called if an attempt fails permanently after the start has continued. */
  readonly onFailure: (error: unknown) => void
}

export interface PendingOpen {
  /**
   * Resolves when the start may continue, after so many milliseconds at most: the attempts then go on in the background.
   * Rejects on a permanent failure.
   */
  started(withinMs: number): Promise<void>
  /** Stops the attempts. */
  close(): Promise<void>
}

const backoffPolicy: BackoffPolicy = { firstMs: 100, longestMs: 2_000 }

const isTemporary = (error: unknown): error is AppError => error instanceof AppError && error.statusCode === 503

/** Retries `open` with backoff until it succeeds or fails with anything but a 503. */
export function openWithRetry({ open, onRetry, onFailure }: RetryOptions): PendingOpen {
  const stop = new AbortController()
  const { signal } = stop
  let hasContinued = false
  let continueStart = () => {}

  const attempt = async ({ failures }: Backoff) => {
    try {
      await open()
      return true
    } catch (error) {
      if (!isTemporary(error)) throw error
      if (failures === 0) onRetry(error)
    }
    continueStart()
    return false
  }
  const startContinues = new Promise<void>((resolve) => {
    continueStart = () => {
      hasContinued = true
      resolve()
    }
  })
  let patience: NodeJS.Timeout | undefined
  const running = retryForever(attempt, { ...backoffPolicy, signal }).finally(() => clearTimeout(patience))
  running.catch((error: unknown) => {
    if (hasContinued && !signal.aborted) onFailure(error)
  })
  return {
    started(withinMs) {
      patience = setTimeout(() => continueStart(), withinMs)
      return Promise.race([running, startContinues]).finally(() => clearTimeout(patience))
    },
    async close() {
      stop.abort()
      await running.catch(() => {})
    }
  }
}

/** Returns the value of `get`; undefined while it throws a 503. */
export function ifAvailable<T>(get: () => T): T | undefined {
  try {
    return get()
  } catch (error) {
    if (isTemporary(error)) return undefined
    throw error
  }
}
