import { after, type TestContext } from 'node:test'

/**
 * Returns a function for set-up that all tests of a file share. `start` runs on the first call; its clean-up runs after
 * the last test of the file.
 */
export function shareSetup<T>(start: (t: TestContext) => Promise<T>): () => Promise<T> {
  const cleanups: (() => unknown)[] = []
  const context = { after: (clean: () => unknown) => void cleanups.push(clean) }
  let started: Promise<T> | undefined
  after(async () => {
    await started?.catch(() => {})
    for (const clean of cleanups) await clean()
  })
  // the helpers use no other members
  return () => (started ??= start(context as unknown as TestContext))
}
