/** What the gateway refused, or that it could not be reached (`status` 0); the message is meant for people. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string | undefined

  constructor(status: number, message: string, code?: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** An answer that was read: 304 has no body. */
export interface Answer<T> {
  readonly status: number
  readonly etag: string | undefined
  readonly body: T
}

export interface SendOptions {
  readonly body?: unknown
  /** JSON text in place of `body`, sent as it is: it may hold numbers that JavaScript's own would change. */
  readonly text?: string
  /** Reads a body that is no error; without it as `JSON.parse` does. */
  readonly parse?: (text: string) => unknown
  readonly etag?: string | undefined
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
  const { error = `The gateway answered ${status}`, code } = (body ?? {}) as { error?: string; code?: string }
  return new ApiError(status, error, code)
}

/** One request to the gateway that served this page. Any status from 400 on is thrown as an `ApiError`. */
export async function send<T>(method: string, path: string, options: SendOptions = {}): Promise<Answer<T>> {
  const { body, etag, signal, parse = readJson } = options
  const text = options.text ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(path, {
    method,
    headers: {
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...(etag && { 'if-none-match': etag })
    },
    ...(text !== undefined && { body: text }),
    ...(signal && { signal })
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'Towpath cannot be reached')
  })
  const isSame = response.status === 304
  const received = isSame ? '' : await response.text()
  if (response.status >= 400) throw toError(response.status, readJson(received))
  const read = (isSame ? undefined : parse(received)) as T
  return { status: response.status, etag: response.headers.get('etag') ?? undefined, body: read }
}

/** The body of `POST`, `PUT`, `PATCH` or `DELETE` of one of the gateway's own routes. */
export const change = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
  (await send<T>(method, path, body === undefined ? {} : { body })).body

const dashboard = '/api/dashboard'
/** A path of the dashboard's own API, its segments encoded: `path('servers', name, 'test')`. */
export const path = (...segments: readonly string[]): string =>
  [dashboard, ...segments.map((segment) => encodeURIComponent(segment))].join('/')
