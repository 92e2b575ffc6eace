import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import sensible, { type HttpError } from '@fastify/sensible'
import fp from 'fastify-plugin'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type FailureDetails } from '../lib/errors.ts'
import { UpstreamFailure } from '../protocol/upstream-failure.ts'
import { drainBody } from '../http/drain-body.ts'
import { sendMessagePage } from '../http/page.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route only rejects its methods; they count as absent in `Allow`. */
    isRefusal?: true
    /** Title of the page that is sent instead of JSON when a request fails: the route is for browsers. */
    errorPage?: string
    /** `scim`: errors are those of RFC 7644 3.12. */
    errorFormat?: 'scim'
  }
}

/** Error body of the management API (http-contract.md#errors); `code` is for programs. */
interface ErrorBody extends FailureDetails {
  readonly error: string
  readonly code?: string
}

type Failure = FastifyError | AppError | HttpError

/**
 * Statuses after which the connection closes: the rest of its bytes cannot be trusted
 * (security-model.md#http-hardening).
 */
const closingStatuses = new Set([400, 408, 413, 414, 415, 431])

/** Replacements for Fastify's own messages, which reveal limits and paths. */
const frameworkMessages: Readonly<Record<string, string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'the request body is too large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'the content type must be application/json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'the request body does not have the length that was announced',
  FST_ERR_CTP_INVALID_JSON_BODY: 'the body is not valid JSON, or has a member that is not accepted',
  FST_ERR_BAD_URL: 'the path is not a valid URL path',
  FST_ERR_MAX_PARAM_LENGTH: 'a part of the path is too long'
}

/** Body errors that yield to 404 and 405 on unknown routes: the body would not have been read. */
const bodyErrors = new Set(['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE'])

function bodyOf(error: Failure, status: number): ErrorBody {
  if (error instanceof AppError)
    return { error: error.message, ...(error.code ? { code: error.code } : {}), ...error.details }
  if (status >= 500) return { error: 'internal server error' }
  return { error: frameworkMessages[error.code ?? ''] ?? error.message }
}

/** `code` of an AppError is the `scimType`. */
function scimBodyOf(error: Failure, status: number): object {
  const { error: detail, code } = bodyOf(error, status)
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error']
  return { schemas, status: String(status), ...(code !== undefined && { scimType: code }), detail }
}

/**
 * Returns the message of an AppError's cause, for the log only: the driver's own error. An upstream's failure is
 * already the message.
 */
export function causeOf({ message, cause }: AppError): { cause?: string } {
  if (!(cause instanceof Error) || cause instanceof UpstreamFailure || message.includes(cause.message)) return {}
  return { cause: cause.message }
}

/** Logs a 5xx: an AppError in one line, an unexpected error with its stack. */
function logFailure(error: Failure, status: number, { log, id: request_id }: FastifyRequest): void {
  if (status < 500) return
  if (!(error instanceof AppError)) return log.error({ request_id, err: error }, 'request failed')
  const { cause } = error
  const hasLeft = cause instanceof UpstreamFailure && cause.reason === 'cancelled'
  log[hasLeft ? 'debug' : 'warn']({ request_id, status, ...causeOf(error) }, `request failed: ${error.message}`)
}

/** Sends the error as a page; the reason of a fault is only in the log. */
function sendErrorPage(title: string, error: Failure, status: number, reply: FastifyReply): FastifyReply {
  const text =
    status < 500 || error instanceof AppError ? error.message : 'An administrator finds the reason in the log.'
  return sendMessagePage(reply, title, `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`, status)
}

function sendError(error: Failure, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const status = error.statusCode ?? 500
  logFailure(error, status, request)
  const { errorPage } = request.routeOptions.config
  if (error instanceof AppError && error.retryAfter !== undefined) void reply.header('retry-after', error.retryAfter)
  void reply.header('x-request-id', request.id)
  if (errorPage !== undefined) return sendErrorPage(errorPage, error, status, reply)
  // RFC 6750 3 requires a challenge with every 401
  if (status === 401 && !reply.hasHeader('www-authenticate')) {
    void reply.header('www-authenticate', 'Bearer error="invalid_token"')
  }
  const isScim = request.routeOptions.config.errorFormat === 'scim'
  void reply.code(status).type(isScim ? 'application/scim+json; charset=utf-8' : 'application/json; charset=utf-8')
  const body = JSON.stringify(isScim ? scimBodyOf(error, status) : bodyOf(error, status))
  if (!closingStatuses.has(status)) return reply.send(body)
  void reply.header('connection', 'close')
  drainBody(request.raw, () => void reply.send(body))
  return reply
}

/** For `frameworkErrors`: errors before a route is matched. */
export const sendFrameworkError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
  void sendError(error, request, reply)
}

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

const socketErrors: Readonly<Record<string, readonly [number, string]>> = {
  [TIMEOUT]: [408, 'the request took too long to arrive'],
  HPE_HEADER_OVERFLOW: [431, 'the request headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions are too large']
}

interface HttpSocket extends Socket {
  /** Response that is currently being written. */
  readonly _httpMessage?: { readonly headersSent: boolean; readonly req: unknown } | null
  readonly parser?: { readonly incoming?: { readonly complete: boolean } | null } | null
}

/**
 * True if the malformed request already has a response, or part of one: a second response would be read as the answer
 * to the next request.
 */
function isAnswered({ _httpMessage: response, parser }: HttpSocket): boolean {
  if (response) return response.headersSent
  return parser?.incoming?.complete === false
}

/**
 * True if the request being read is pipelined behind another: its body is not read before its turn, so its time-out
 * does not apply yet.
 */
const isQueued = ({ _httpMessage: response, parser }: HttpSocket) =>
  response != null && parser?.incoming?.complete === false && response.req !== parser.incoming

/** For `clientErrorHandler`: answers errors of Node's HTTP parser on the socket and closes it. */
export function answerClientError(error: { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  // the time limit starts with its turn, see `pipelining.ts`
  if (error.code === TIMEOUT && isQueued(socket)) return
  const [status, message] = socketErrors[error.code ?? ''] ?? [400, 'the request is not valid HTTP']
  const body = JSON.stringify({ error: message })
  if (socket.writable && !isAnswered(socket)) {
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
    )
  }
  socket.destroySoon()
}

/** Answers 408 if the rest of a request does not arrive within `ms`. */
export function limitArrival(request: IncomingMessage, ms: number): void {
  if (request.complete) return
  const timer = setTimeout(() => {
    if (!request.complete) answerClientError({ code: TIMEOUT }, request.socket)
  }, ms).unref()
  request.once('close', () => clearTimeout(timer))
}

interface KnownRoute {
  readonly segments: readonly string[]
  readonly methods: Set<string>
}

const split = (path: string) => (path === '/' ? [''] : path.split('/').slice(1))

const matchesPattern = (pattern: readonly string[], path: readonly string[]): boolean =>
  pattern.at(-1) === '*'
    ? path.length >= pattern.length && matchesPattern(pattern.slice(0, -1), path.slice(0, pattern.length - 1))
    : pattern.length === path.length &&
      pattern.every((part, i) => (part.startsWith(':') ? path[i] !== '' : part === path[i]))

/**
 * Produces all error bodies: error handler, unknown routes (404) and unsupported methods (405). HTTP-level errors come
 * from `@fastify/sensible`, all others are AppErrors.
 */
export default fp(
  async (app) => {
    await app.register(sensible)
    const routes = new Map<string, KnownRoute>()
    app.addHook('onRoute', ({ url, method, config }) => {
      if (config?.isRefusal) return
      const known = routes.get(url) ?? { segments: split(url), methods: new Set() }
      for (const name of [method].flat()) known.methods.add(name)
      routes.set(url, known)
    })

    const refuseUnknown = (request: FastifyRequest, reply: FastifyReply) => {
      const path = split(request.url.split('?', 1)[0]!)
      const methods = [...routes.values()]
        .filter(({ segments }) => matchesPattern(segments, path))
        .flatMap((r) => [...r.methods])
      if (methods.length === 0) return sendError(app.httpErrors.notFound('no such route'), request, reply)
      // a static route of this method found no such file
      if (methods.includes(request.method)) return sendError(app.httpErrors.notFound('no such file'), request, reply)
      const allow = [...new Set(methods)].sort().join(', ')
      void reply.header('allow', allow)
      return sendError(
        app.httpErrors.methodNotAllowed(`${request.method} is not allowed here, only ${allow}`),
        request,
        reply
      )
    }
    app.setNotFoundHandler(refuseUnknown)

    app.setErrorHandler<FastifyError | AppError>((error, request, reply) => {
      if (!request.is404 || !bodyErrors.has(error.code ?? '')) return sendError(error, request, reply)
      void reply.header('connection', 'close')
      return refuseUnknown(request, reply)
    })

    app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
      const body = JSON.stringify({ error: 'the only supported expectation is 100-continue' })
      response.writeHead(417, { 'content-type': 'application/json; charset=utf-8', connection: 'close' }).end(body)
    })

    app.addHook('onSend', async (_request, reply) => {
      if (closingStatuses.has(reply.statusCode)) void reply.header('connection', 'close')
    })
  },
  { name: 'errors' }
)
