/** Does `work` for each, so many at a time; the answers in the order of the items. */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>
): Promise<R[]> {
  const answers: R[] = []
  const queue = items.entries()
  const run = async () => {
    for (const [index, item] of queue) answers[index] = await work(item)
  }
  await Promise.all(Array.from({ length: width }, run))
  return answers
}
