import { test } from 'node:test'
import fc from 'fast-check'

/** What a test of a property asks of the machine; what it did not get to in that time it leaves. */
const TIME_LIMIT_MS = 4_000

/**
 * A test that tries random values. A failure prints them made as small as possible, with seed and path;
 * `PROPERTY_SEED=<seed>` tries the same values again, `PROPERTY_RUNS=<number>` other numbers of them.
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
