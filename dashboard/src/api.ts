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
  readonly etag?: string | undefined
  readonly signal?: AbortSignal
}

const readBody = async (response: Response): Promise<unknown> => {
  const text = await response.text()
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
  const { body, etag, signal } = options
  const response = await fetch(path, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(etag && { 'if-none-match': etag })
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal })
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'Towpath cannot be reached')
  })
  const answer = response.status === 304 ? undefined : await readBody(response)
  if (response.status >= 400) throw toError(response.status, answer)
  return { status: response.status, etag: response.headers.get('etag') ?? undefined, body: answer as T }
}

/** The body of `POST`, `PUT`, `PATCH` or `DELETE` of one of the gateway's own routes. */
export const change = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
  (await send<T>(method, path, body === undefined ? {} : { body })).body

const dashboard = '/api/dashboard'
/** A path of the dashboard's own API, its segments encoded: `path('servers', name, 'test')`. */
export const path = (...segments: readonly string[]): string =>
  [dashboard, ...segments.map((segment) => encodeURIComponent(segment))].join('/')
