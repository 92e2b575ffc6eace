import type { OverloadMonitor } from '../../http/overload.ts'

/** Maximum age of a reused text under overload. */
const MAX_AGE_MS = 10_000

/**
 * Shares the result of `make` among concurrent requests, whose rate callers choose; under overload it is made once in
 * ten seconds.
 */
export function shareText(
  make: () => Promise<string>,
  load: Pick<OverloadMonitor, 'isOverloaded'>
): () => Promise<Buffer> {
  let last: { readonly text: Promise<Buffer>; readonly at: number } | undefined
  let isMaking = false
  return () => {
    const now = performance.now()
    if (last && (isMaking || (load.isOverloaded && now - last.at < MAX_AGE_MS))) return last.text
    isMaking = true
    const text = make()
      .then((made) => Buffer.from(made))
      .catch((error: unknown) => {
        last = undefined
        throw error
      })
      .finally(() => (isMaking = false))
    last = { text, at: now }
    return text
  }
}
