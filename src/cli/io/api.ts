import { isObject } from '../../domain/is-object.ts'
import type { Connection } from './connection.ts'
import { answerFailure, EXIT, Failure, type FailureDetails } from './failure.ts'
import type { Spinner } from './spinner.ts'

/** A successful response. */
export interface ApiResponse<T> {
  readonly status: number
  readonly headers: Headers
  /** Raw body; empty if there is none. */
  readonly text: string
  readonly body: T
}

export interface SendOptions {
  /** Replaces the connection's token; null sends none. */
  readonly token?: string | null
  readonly timeoutMs?: number | undefined
  /** Shown while the answer is awaited, for example `connecting to the server "x"`. */
  readonly reason?: string
  readonly headers?: Readonly<Record<string, string>>
  /** JSON text of the body, in the place of a body that parsing would change. */
  readonly bodyText?: string
}

/** Source of access tokens that expire, such as a person's sign-in. */
export interface TokenSource {
  /** Resolves with a token that is valid now; rejects with a Failure if the sign-in has ended. */
  current(api: Api): Promise<string>
  /** Resolves with a token other than `refused`; rejects with a Failure if there will be none. */
  replace(api: Api, refused: string): Promise<string>
}

/** HTTP client of the gateway. Throws a Failure on any error status. */
export interface Api {
  readonly registry: string
  send<T>(method: string, path: string, body?: unknown, options?: SendOptions): Promise<ApiResponse<T>>
  get<T>(path: string): Promise<ApiResponse<T>>
  post<T>(path: string, body?: unknown, options?: SendOptions): Promise<ApiResponse<T>>
  put<T>(path: string, body: unknown): Promise<ApiResponse<T>>
  remove(path: string): Promise<ApiResponse<undefined>>
}

/** Appends a query to `path`, without undefined members. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]]
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

function detailsOf({ cause, summary, next_step: step, stderr }: Readonly<Record<string, unknown>>): FailureDetails {
  const lines = Array.isArray(stderr) ? stderr.filter((line): line is string => typeof line === 'string') : []
  return {
    ...(typeof cause === 'string' ? { cause } : {}),
    ...(typeof summary === 'string' ? { summary } : {}),
    ...(typeof step === 'string' ? { next_step: step } : {}),
    ...(lines.length > 0 ? { stderr: lines } : {})
  }
}

function errorOf(status: number, text: string, registry: string): Failure {
  const body = parse(text)
  if (isObject(body) && typeof body.error === 'string')
    return answerFailure(status, body.error, textOf(body.code), detailsOf(body))
  const redirected = status >= 300 && status < 400 ? ' (redirect)' : ''
  return new Failure(
    status === 404 ? EXIT.notFound : EXIT.failed,
    `${registry} answered ${status}${redirected}: this is not a gateway`,
    {
      hint: 'check the URL of the gateway, or pass another one with --registry',
      code: `http_${status}`
    }
  )
}

const networkErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'unknown host name',
  EAI_AGAIN: 'the host name could not be resolved',
  ECONNRESET: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_HEADERS_TIMEOUT: 'the response timed out'
}

function unreachable(cause: unknown, registry: string): Failure {
  if (cause instanceof DOMException && cause.name === 'TimeoutError')
    return new Failure(EXIT.failed, 'no response within --timeout', { cause, code: 'timeout' })
  const inner = cause instanceof Error ? (cause.cause as { code?: string } | undefined)?.code : undefined
  const why = inner === undefined ? 'the request failed' : (networkErrors[inner] ?? inner)
  return new Failure(EXIT.unreachable, `cannot reach ${registry}: ${why}`, {
    cause,
    hint: 'start a gateway with `towpath start`, or pass the URL of one with --registry',
    code: 'unreachable'
  })
}

/** `trace` receives one line per request, without secrets. */
export function createApi(
  { registry, token }: Connection,
  trace: (line: string) => void,
  waiting: Spinner,
  source?: TokenSource
): Api {
  async function sendAs<T>(
    bearer: string | null | undefined,
    method: string,
    path: string,
    body: unknown,
    options: SendOptions
  ): Promise<ApiResponse<T>> {
    const began = performance.now()
    const sent = options.bodyText ?? (body === undefined ? undefined : JSON.stringify(body))
    const traceResult = (result: string | number) =>
      trace(`${method} ${path.split('?', 1)[0]!} ${result} ${Math.round(performance.now() - began)} ms`)
    let response: Pick<Response, 'status' | 'ok' | 'headers'>
    let text: string
    try {
      const request = fetch(registry + path, {
        method,
        redirect: 'manual',
        headers: {
          accept: 'application/json',
          ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
          ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
          ...options.headers
        },
        ...(sent === undefined ? {} : { body: sent }),
        ...(options.timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(options.timeoutMs) })
      })
      ;[response, text] = await waiting(
        request.then(async (answer) => [answer, await answer.text()] as const),
        options.reason
      )
    } catch (cause) {
      traceResult('failed')
      throw unreachable(cause, registry)
    }
    traceResult(response.status)
    if (!response.ok) throw errorOf(response.status, text, registry)
    const parsed = text === '' ? undefined : parse(text)
    if (text !== '' && parsed === undefined) throw errorOf(response.status, text, registry)
    return { status: response.status, headers: response.headers, text, body: parsed as T }
  }
  async function send<T>(
    method: string,
    path: string,
    body?: unknown,
    options: SendOptions = {}
  ): Promise<ApiResponse<T>> {
    if (options.token !== undefined || !source) {
      const bearer = options.token === undefined ? token : options.token
      return sendAs(bearer, method, path, body, options)
    }
    const bearer = await source.current(api)
    try {
      return await sendAs(bearer, method, path, body, options)
    } catch (error) {
      // refused before anything was done; the sign-in may have been renewed or ended elsewhere
      if (!(error instanceof Failure) || error.status !== 401) throw error
      return sendAs(await source.replace(api, bearer), method, path, body, options)
    }
  }
  const api: Api = {
    registry,
    send,
    get: (path) => send('GET', path),
    post: (path, body, options) => send('POST', path, body, options),
    put: (path, body) => send('PUT', path, body),
    remove: (path) => send('DELETE', path)
  }
  return api
}
