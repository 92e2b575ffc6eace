import { isUtf8 } from 'node:buffer'
import type { Dispatcher } from 'undici'
import { definitionProblem } from '../../catalog/items/definition.ts'
import type { Egress } from '../http/egress.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { socketFailure } from '../http/failure.ts'

export interface OAuthResponse {
  readonly status: number
  /** Null if the body is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | null
}

/** Small requests to authorization servers, for upstream metadata and to registries (security-model.md#upstream-oauth). */
export interface OAuthHttp {
  /** Follows redirects within the origin. `whom` names the other side in failures. Rejects with UpstreamFailure. */
  get(url: string, whom: string): Promise<OAuthResponse>
  post(url: string, headers: Readonly<Record<string, string>>, body: string, whom: string): Promise<OAuthResponse>
  /** Resolves with false if the egress policy would refuse the address. */
  isAllowed(url: string): Promise<boolean>
}

/** Returns the client for addresses that a server names; `configured` is the server's registered URL. */
export type OAuthHttpFor = (configured: string) => OAuthHttp

export interface OAuthHttpOptions {
  readonly egress: Pick<Egress, 'dispatcherFor' | 'admits'>
  readonly userAgent: string
  /** Limit for a whole exchange, redirects included. */
  readonly timeoutMs?: number
  /** Limit for the body of an answer. */
  readonly maxBytes?: number
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 65_536
const MAX_REDIRECTS = 3

async function readBody(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) throw new UpstreamFailure('too_large', `answered with more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * True if no text contains control characters or surrogates: neither the store nor a header accepts them, and RFC 6749,
 * 7591 and 8414 have no use for them.
 */
const isPrintable = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isPrintable) : typeof value !== 'string' || !/[\p{Cc}\p{Surrogate}]/u.test(value)

/**
 * Parses a JSON object without repeated members; members with unprintable text are left out. Null for any other body.
 */
function parse(body: Buffer): OAuthResponse['body'] {
  const text = body.toString().trim()
  if (!isUtf8(body) || definitionProblem(text) !== undefined) return null
  const members = Object.entries(JSON.parse(text) as Record<string, unknown>)
  return Object.fromEntries(members.filter(([, value]) => isPrintable(value)))
}

/** Returns the failure for an error of a request. `whom` names the other side. */
export function requestFailure(error: unknown, whom: string): UpstreamFailure {
  const isLate = error instanceof Error && error.name === 'TimeoutError'
  const known = isLate ? new UpstreamFailure('timeout', 'did not answer in time') : socketFailure(error, false)
  return new UpstreamFailure(known.reason, `${whom}: ${known.message}`, { cause: known })
}

export const createOAuthHttp =
  (options: OAuthHttpOptions): OAuthHttpFor =>
  (configured) =>
    createRequests(options, configured)

function createRequests(
  { egress, userAgent, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES }: OAuthHttpOptions,
  configured: string
): OAuthHttp {
  const common = { accept: 'application/json', 'user-agent': userAgent }

  const request = async (
    url: string,
    options: Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'signal' | 'body'>
  ) => {
    const { origin, pathname, search } = new URL(url)
    const dispatcher = await egress.dispatcherFor(configured)
    return dispatcher.request({ origin, path: pathname + search, ...options })
  }
  const get = async (url: string, signal: AbortSignal, redirects: number): Promise<OAuthResponse> => {
    const { statusCode: status, headers, body } = await request(url, { method: 'GET', signal, headers: common })
    const document = await readBody(body, maxBytes)
    const { location } = headers
    if (status < 300 || status >= 400 || typeof location !== 'string') return { status, body: parse(document) }
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined
    if (next?.origin !== new URL(url).origin || redirects === 0) {
      throw new UpstreamFailure('bad_response', 'sent a redirect that is not followed')
    }
    return get(next.href, signal, redirects - 1)
  }
  return {
    isAllowed: (url) => egress.admits(url, configured),
    async get(url, whom) {
      try {
        return await get(url, AbortSignal.timeout(timeoutMs), MAX_REDIRECTS)
      } catch (error) {
        throw requestFailure(error, whom)
      }
    },
    async post(url, headers, body, whom) {
      try {
        const signal = AbortSignal.timeout(timeoutMs)
        const answer = await request(url, { method: 'POST', signal, headers: { ...common, ...headers }, body })
        return { status: answer.statusCode, body: parse(await readBody(answer.body, maxBytes)) }
      } catch (error) {
        throw requestFailure(error, whom)
      }
    }
  }
}
