import type { TestContext } from 'node:test'

/** Lets a program use the helpers of the tests, which clean up after a test: here when `work` ends, however it does. */
export async function standalone<T>(work: (t: TestContext) => Promise<T>): Promise<T> {
  const cleanups: (() => unknown)[] = []
  const context = { after: (clean: () => unknown) => void cleanups.push(clean) }
  try {
    // the helpers use nothing else of it
    return await work(context as unknown as TestContext)
  } finally {
    for (const clean of cleanups) await clean()
  }
}
