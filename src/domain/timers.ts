/** Longest delay of a timer in milliseconds; with a longer one, Node.js runs it at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** Returns the milliseconds until a deadline in `performance.now()` time, as the delay of a timer. */
export const timeLeft = (deadline: number): number => Math.min(Math.max(deadline - performance.now(), 0), MAX_TIMER_MS)
