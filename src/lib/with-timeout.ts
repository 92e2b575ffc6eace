/** Waits for `work`, at most `limitMs`. Rejects if `work` rejects in time. */
export async function withTimeout(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, limitMs))
  })
  try {
    await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
