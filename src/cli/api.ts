import { isObject } from '../domain/is-object.ts'
import type { Connection } from './connection.ts'
import { answerFailure, EXIT, Failure } from './failure.ts'
import type { Waiting } from './spinner.ts'

/** A success. */
export interface Answer<T> {
  readonly status: number
  readonly headers: Headers
  /** The body as it came; empty where there is none. */
  readonly text: string
  readonly body: T
}

export interface SendOptions {
  /** In place of the token of the connection; null for none. */
  readonly token?: string | null
  readonly timeoutMs?: number | undefined
}

/** Requests to the gateway. Whatever is no success is thrown as a Failure. */
export interface Api {
  readonly registry: string
  send<T>(method: string, path: string, body?: unknown, options?: SendOptions): Promise<Answer<T>>
  get<T>(path: string): Promise<Answer<T>>
  post<T>(path: string, body?: unknown): Promise<Answer<T>>
  put<T>(path: string, body: unknown): Promise<Answer<T>>
  remove(path: string): Promise<Answer<undefined>>
}

/** `path` with a query; members that are undefined are left out. */
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

function refusal(status: number, text: string, registry: string): Failure {
  const body = parse(text)
  if (isObject(body) && typeof body.error === 'string')
    return answerFailure(status, body.error, typeof body.code === 'string' ? body.code : undefined)
  const redirected = status >= 300 && status < 400 ? ', a redirection' : ''
  return new Failure(
    status === 404 ? EXIT.notFound : EXIT.failed,
    `${registry} answered ${status}${redirected}, not as a gateway answers`,
    {
      hint: 'is this the URL of the gateway itself? `--registry` names another one',
      code: `http_${status}`
    }
  )
}

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up',
  ECONNRESET: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time'
}

function unreachable(cause: unknown, registry: string): Failure {
  if (cause instanceof DOMException && cause.name === 'TimeoutError')
    return new Failure(EXIT.failed, 'no answer within --timeout', { cause, code: 'timeout' })
  const inner = cause instanceof Error ? (cause.cause as { code?: string } | undefined)?.code : undefined
  const why = inner === undefined ? 'the request failed' : (causes[inner] ?? inner)
  return new Failure(EXIT.unreachable, `cannot reach ${registry}: ${why}`, {
    cause,
    hint: 'start a gateway with `towpath start`, or name one with --registry',
    code: 'unreachable'
  })
}

/** `trace` gets one line for each request, without anything secret. */
export function createApi({ registry, token }: Connection, trace: (line: string) => void, waiting: Waiting): Api {
  async function send<T>(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Answer<T>> {
    const bearer = options.token === undefined ? token : options.token
    const began = performance.now()
    const told = (what: string | number) =>
      trace(`${method} ${path.split('?', 1)[0]!} ${what} ${Math.round(performance.now() - began)} ms`)
    let response: Pick<Response, 'status' | 'ok' | 'headers'>
    let text: string
    try {
      const asked = fetch(registry + path, {
        method,
        redirect: 'manual',
        headers: {
          accept: 'application/json',
          ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' })
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(options.timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(options.timeoutMs) })
      })
      ;[response, text] = await waiting(asked.then(async (answer) => [answer, await answer.text()] as const))
    } catch (cause) {
      told('failed')
      throw unreachable(cause, registry)
    }
    told(response.status)
    if (!response.ok) throw refusal(response.status, text, registry)
    const parsed = text === '' ? undefined : parse(text)
    if (text !== '' && parsed === undefined) throw refusal(response.status, text, registry)
    return { status: response.status, headers: response.headers, text, body: parsed as T }
  }
  return {
    registry,
    send,
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    put: (path, body) => send('PUT', path, body),
    remove: (path) => send('DELETE', path)
  }
}
