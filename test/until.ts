import { setTimeout as delay } from 'node:timers/promises'

/** Longest pause between two checks. */
const LONGEST_MS = 200

/** Polls until `check` returns a truthy value; an exception counts as not yet. */
export async function until<T>(what: string, check: () => T | Promise<T>, limitMs = 120_000): Promise<T> {
  const end = performance.now() + limitMs
  for (let last: unknown; ;) {
    const begin = performance.now()
    try {
      const value = await check()
      if (value) return value
    } catch (error) {
      last = error
    }
    const now = performance.now()
    if (now > end) throw new Error(`waited ${limitMs} ms for ${what}`, { cause: last })
    // what is waited for needs the CPU more than a costly check, such as a list of all processes, does
    await delay(Math.min(10 + 3 * (now - begin), LONGEST_MS))
  }
}
