import type { Load } from '../load.ts'

/** While there is too much to do a text may be so old. */
const MAX_AGE_MS = 10_000

/**
 * Makes a text that anybody may ask for, at their pace: those who ask while it is being made get the same, and while there is
 * too much to do it is made once in ten seconds.
 */
export function shareText(make: () => Promise<string>, load: Pick<Load, 'isHigh'>): () => Promise<Buffer> {
  let last: { readonly text: Promise<Buffer>; readonly at: number } | undefined
  let isMaking = false
  return () => {
    const now = performance.now()
    if (last && (isMaking || (load.isHigh && now - last.at < MAX_AGE_MS))) return last.text
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
