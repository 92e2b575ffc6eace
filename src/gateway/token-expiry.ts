/** Longest time between two looks at the clock, which may be set while a timer runs. */
const MAX_WAIT_MS = 30_000
/** Shortest time between two expiries: tokens that expire shortly after each other expire together. */
const MIN_WAIT_MS = 250

/** Ends what was opened with a token when the token expires; look-ups of tokens check the time themselves. */
export interface TokenExpiry {
  /** `at`: time at which the next token expires, in milliseconds since 1970; undefined if none does. */
  schedule(at: number | undefined): void
  close(): void
}

/** `onExpired` is called once the time has come. */
export function createTokenExpiry(onExpired: () => void): TokenExpiry {
  let timer: NodeJS.Timeout | undefined
  const wait = (at: number) => {
    const ms = Math.min(Math.max(at - Date.now(), MIN_WAIT_MS), MAX_WAIT_MS)
    timer = setTimeout(() => (Date.now() < at ? wait(at) : onExpired()), ms).unref()
  }
  const stop = () => clearTimeout(timer)
  return {
    schedule(at) {
      stop()
      if (at !== undefined) wait(at)
    },
    close: stop
  }
}
