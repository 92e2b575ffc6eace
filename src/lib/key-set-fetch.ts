import { LRUCache } from 'lru-cache'

type Fetch = (url: string, init: RequestInit | undefined) => Promise<Response>

/** Addresses whose failure is remembered. */
const MAX_FAILED = 1_000
/** Time until a key set that could not be read is read again, whoever asks. */
const FAILED_MS = 30_000

/**
 * Returns a `fetch` for key sets. Failures are remembered for 30 seconds, because anybody can send a token or an assertion. Answers have no cache headers: the library then reads a set again after a minute when a key is unknown,
 * however long the answer may be cached.
 */
export function createKeySetFetch(request: Fetch, now: () => number = () => performance.now()): Fetch {
  const failed = new LRUCache<string, number>({ max: MAX_FAILED })
  return async (url, init) => {
    const at = failed.get(url)
    if (at !== undefined && now() - at < FAILED_MS) throw new Error('the key set could not be read before')
    try {
      const answer = await request(url, init)
      if (answer.status !== 200) throw new Error(`the key set was answered with status ${answer.status}`)
      const text = await answer.text()
      const set = JSON.parse(text) as { readonly keys?: unknown } | null
      if (!Array.isArray(set?.keys)) throw new Error('the answer is no key set')
      return new Response(text)
    } catch (error) {
      failed.set(url, now())
      throw error
    }
  }
}
