/** Removes parts of the text while it still fails, up to the time limit. */
export async function shrink(
  text: string,
  isFailing: (candidate: string) => Promise<boolean>,
  limitMs = 20_000
): Promise<string> {
  let smallest = text
  const end = performance.now() + limitMs
  for (let size = Math.ceil(text.length / 2); size >= 1; size = size > 1 ? Math.ceil(size / 2) : 0) {
    for (let at = 0; at < smallest.length && performance.now() < end;) {
      const candidate = smallest.slice(0, at) + smallest.slice(at + size)
      if (await isFailing(candidate)) smallest = candidate
      else at += size
    }
  }
  return smallest
}
