import { setTimeout as delay } from 'node:timers/promises'

/** Polls until `check` returns a truthy value; an exception counts as not yet. */
export async function until<T>(what: string, check: () => T | Promise<T>, limitMs = 120_000): Promise<T> {
  const end = performance.now() + limitMs
  for (let last: unknown; ;) {
    try {
      const value = await check()
      if (value) return value
    } catch (error) {
      last = error
    }
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms for ${what}`, { cause: last })
    await delay(10)
  }
}
