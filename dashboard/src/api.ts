import { addressOf, mount } from './mount.ts'
import { csrfToken, hasEnded } from './session.ts'

/** Members with which the gateway explains a failed contact with a server. */
export interface Explained {
  readonly summary?: string
  readonly next_step?: string
  readonly stderr?: readonly string[]
}

/** Error response of the gateway, or a failed connection to it (`status` 0). The message is written for people. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string | undefined
  /** Explanation of a failed contact with a server. */
  readonly details: Explained

  constructor(status: number, message: string, code?: string, details: Explained = {}) {
    super(message)
    this.details = details
    this.status = status
    this.code = code
  }
}

/** Parsed response; 304 has no body. */
export interface Answer<T> {
  readonly status: number
  readonly etag: string | undefined
  readonly body: T
}

export interface SendOptions {
  readonly body?: unknown
  /** JSON text sent unchanged instead of `body`: it may hold numbers that a double would change. */
  readonly text?: string
  /** Parses a successful body; `JSON.parse` by default. */
  readonly parse?: (text: string) => unknown
  readonly etag?: string | undefined
  /** Headers besides those of every request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

const readJson = (text: string): unknown => {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const toError = (status: number, body: unknown) => {
  const answer = (body ?? {}) as Explained & { error?: string; code?: string }
  return new ApiError(status, answer.error ?? `The gateway answered ${status}`, answer.code, answer)
}

/** Sends one request to the gateway that served this page. Throws an `ApiError` for any status from 400 on. */
export async function send<T>(method: string, path: string, options: SendOptions = {}): Promise<Answer<T>> {
  const { body, etag, signal, parse = readJson } = options
  const text = options.text ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(addressOf(path), {
    method,
    headers: {
      ...options.headers,
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...(etag && { 'if-none-match': etag }),
      ...(method !== 'GET' && csrfToken.value !== '' && { 'x-towpath-csrf': csrfToken.value })
    },
    ...(text !== undefined && { body: text }),
    ...(signal && { signal })
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'Towpath cannot be reached')
  })
  if (mount.isConsole && response.status === 401) hasEnded.value = true
  const isSame = response.status === 304
  const received = isSame ? '' : await response.text()
  if (response.status >= 400) throw toError(response.status, readJson(received))
  const read = (isSame ? undefined : parse(received)) as T
  return { status: response.status, etag: response.headers.get('etag') ?? undefined, body: read }
}

/** Sends a `POST`, `PUT`, `PATCH` or `DELETE` to a route of the gateway and returns the response body. */
export const change = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
  (await send<T>(method, path, body === undefined ? {} : { body })).body

/** Returns a path of the pages' API with encoded segments: `path('servers', name, 'test')`. */
export const path = (...segments: readonly string[]): string =>
  [mount.api, ...segments.map((segment) => encodeURIComponent(segment))].join('/')
