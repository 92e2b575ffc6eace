import type { TestContext } from 'node:test'

/** Lets a program use the test helpers, whose clean-up then runs when `work` ends or fails. */
export async function runStandalone<T>(work: (t: TestContext) => Promise<T>): Promise<T> {
  const cleanups: (() => unknown)[] = []
  const context = { after: (clean: () => unknown) => void cleanups.push(clean) }
  try {
    // the helpers use no other members
    return await work(context as unknown as TestContext)
  } finally {
    for (const clean of cleanups) await clean()
  }
}
