import { test } from 'node:test'
import fc from 'fast-check'

/** Time limit of a property; the remaining runs are skipped. */
const TIME_LIMIT_MS = 4_000

/**
 * Runs a test with random values. A failure prints a minimal example with seed and path; `PROPERTY_SEED=<seed>` repeats
 * the same values, `PROPERTY_RUNS=<number>` sets the number of runs.
 */
export function holds<T extends [unknown, ...unknown[]]>(
  title: string,
  arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> },
  check: (...values: T) => void,
  runs = 1_000
): void {
  const { PROPERTY_SEED: seed, PROPERTY_RUNS: wanted } = process.env
  test(title, () => {
    fc.assert(fc.property(...arbitraries, check), {
      numRuns: Number(wanted ?? runs),
      ...(seed === undefined ? {} : { seed: Number(seed) }),
      ...(wanted === undefined && { interruptAfterTimeLimit: TIME_LIMIT_MS })
    })
  })
}
