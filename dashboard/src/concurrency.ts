/** Runs `work` for each item in order, at most `width` at a time. */
export async function runConcurrently<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>
): Promise<void> {
  const queue = items.values()
  const run = async () => {
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: width }, run))
}
