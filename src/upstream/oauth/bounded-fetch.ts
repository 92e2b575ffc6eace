import type { Dispatcher } from 'undici'
import type { Egress } from '../http/egress.ts'

/** `fetch` for libraries, within the egress policy: bounded in bytes and time, without redirects. */
export type BoundedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

const TIMEOUT_MS = 10_000
/** Statuses without a body (Fetch standard, "null body status"). */
const withoutBody = new Set([101, 103, 204, 205, 304])

export interface BoundedFetchOptions {
  readonly egress: Pick<Egress, 'dispatcherFor'>
  readonly userAgent: string
}

/**
 * Returns a function that makes a `fetch`. `configured`: address that an operator configured, as near to the inside of
 * the network as requests may lead; undefined: only public addresses.
 */
export const createBoundedFetch =
  ({ egress, userAgent }: BoundedFetchOptions) =>
  (configured: string | undefined, maxBytes: number, timeoutMs = TIMEOUT_MS): BoundedFetch =>
  async (url, { method = 'GET', headers, body, signal } = {}) => {
    const { origin, pathname, search } = new URL(url)
    const dispatcher = await egress.dispatcherFor(configured)
    const timeout = AbortSignal.timeout(timeoutMs)
    const own = Object.fromEntries(new Headers(headers))
    const answer = await dispatcher.request({
      origin,
      path: pathname + search,
      method: method as Dispatcher.HttpMethod,
      headers: { ...own, 'user-agent': userAgent, 'accept-encoding': 'identity' },
      body: body === undefined || body === null ? null : String(body as string | URLSearchParams),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout
    })
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > maxBytes) throw new Error(`answered with more than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    const pairs = Object.entries(answer.headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((each): [string, string] => [name, each])
    )
    const { statusCode: status } = answer
    return new Response(withoutBody.has(status) ? null : Buffer.concat(chunks), { status, headers: pairs })
  }
