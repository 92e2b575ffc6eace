/** The text with as much taken out of it as it goes on failing without; tried at most `limit` times. */
export async function shrink(
  text: string,
  isFailing: (candidate: string) => Promise<boolean>,
  limit = 200
): Promise<string> {
  let smallest = text
  let tries = 0
  for (let size = Math.ceil(text.length / 2); size >= 1; size = size > 1 ? Math.ceil(size / 2) : 0) {
    for (let at = 0; at < smallest.length && tries < limit;) {
      const candidate = smallest.slice(0, at) + smallest.slice(at + size)
      tries++
      if (await isFailing(candidate)) smallest = candidate
      else at += size
    }
  }
  return smallest
}
