import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import sensible, { type HttpError } from '@fastify/sensible'
import fp from 'fastify-plugin'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { UpstreamFailure } from '../gateway/upstream/failure.ts'
import { discardRest } from './discard.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route only says that its methods are not possible: they count as absent. */
    isRefusal?: true
  }
}

/** Contract 7; `code` where a machine should tell cases apart. */
interface ErrorBody {
  readonly error: string
  readonly code?: string
}

type Failure = FastifyError | AppError | HttpError

/** After these the rest of what the connection carries cannot be trusted (security-model.md#http-hardening). */
const closing = new Set([400, 408, 413, 414, 415, 431])

/** Fastify's own refusals in our words; its texts name limits and paths. */
const texts: Readonly<Record<string, string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'the request body is too large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'the content type must be application/json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'the request body does not have the length that was announced',
  FST_ERR_CTP_INVALID_JSON_BODY: 'the body is not valid JSON, or holds a member that is not accepted',
  FST_ERR_BAD_URL: 'the path is not a valid URL path',
  FST_ERR_MAX_PARAM_LENGTH: 'a part of the path is too long'
}

/** Nobody would read the body: that the path or the method is not known says more. */
const unreadable = new Set(['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE'])

function bodyOf(error: Failure, status: number): ErrorBody {
  if (error instanceof AppError) return { error: error.message, ...(error.code ? { code: error.code } : {}) }
  if (status >= 500) return { error: 'internal server error' }
  return { error: texts[error.code ?? ''] ?? error.message }
}

/** What an AppError's cause adds, for the log alone: a driver's own words; an upstream's failure is the message. */
export function causeOf({ message, cause }: AppError): { cause?: string } {
  if (!(cause instanceof Error) || cause instanceof UpstreamFailure || message.includes(cause.message)) return {}
  return { cause: cause.message }
}

/** Foreseen failures are one line; only what nobody foresaw shows where in the code. */
function record(error: Failure, status: number, { log, id: request_id }: FastifyRequest): void {
  if (status < 500) return
  if (!(error instanceof AppError)) return log.error({ request_id, err: error }, 'request failed')
  const { cause } = error
  const hasLeft = cause instanceof UpstreamFailure && cause.reason === 'cancelled'
  log[hasLeft ? 'debug' : 'warn']({ request_id, status, ...causeOf(error) }, `request failed: ${error.message}`)
}

function sendError(error: Failure, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const status = error.statusCode ?? 500
  record(error, status, request)
  if (error instanceof AppError && error.retryAfter !== undefined) void reply.header('retry-after', error.retryAfter)
  void reply.header('x-request-id', request.id)
  // RFC 6750 3: every 401 has its challenge
  if (status === 401 && !reply.hasHeader('www-authenticate')) {
    void reply.header('www-authenticate', 'Bearer error="invalid_token"')
  }
  void reply.code(status).type('application/json; charset=utf-8')
  const body = JSON.stringify(bodyOf(error, status))
  if (!closing.has(status)) return reply.send(body)
  void reply.header('connection', 'close')
  discardRest(request.raw, () => void reply.send(body))
  return reply
}

/** For `frameworkErrors`: refusals before a route is known. */
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
  /** The response whose turn it is. */
  readonly _httpMessage?: { readonly headersSent: boolean; readonly req: unknown } | null
  readonly parser?: { readonly incoming?: { readonly complete: boolean } | null } | null
}

/** Whether the request whose bytes are refused has its answer, or a part of it: a second one would be taken for the next
 * request's. */
function isAnswered({ _httpMessage: response, parser }: HttpSocket): boolean {
  if (response) return response.headersSent
  return parser?.incoming?.complete === false
}

/** True where the request being read stands behind another: its body is not read before its turn, however late. */
const waitsForItsTurn = ({ _httpMessage: response, parser }: HttpSocket) =>
  response != null && parser?.incoming?.complete === false && response.req !== parser.incoming

/** For `clientErrorHandler`: what Node's parser refuses. Answers on the socket and closes it. */
export function answerClientError(error: { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  // its time begins with its turn, see `in-turn`
  if (error.code === TIMEOUT && waitsForItsTurn(socket)) return
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

/** Answers 408 where the rest of a request does not arrive in time. */
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

const fits = (pattern: readonly string[], path: readonly string[]): boolean =>
  pattern.at(-1) === '*'
    ? path.length >= pattern.length && fits(pattern.slice(0, -1), path.slice(0, pattern.length - 1))
    : pattern.length === path.length &&
      pattern.every((part, i) => (part.startsWith(':') ? path[i] !== '' : part === path[i]))

/** The only maker of error bodies: error handler, unknown routes (404) and wrong methods (405). HTTP's own refusals are
 * `@fastify/sensible`'s, all others AppErrors. */
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
      const methods = [...routes.values()].filter(({ segments }) => fits(segments, path)).flatMap((r) => [...r.methods])
      if (methods.length === 0) return sendError(app.httpErrors.notFound('no such route'), request, reply)
      // a file that a route of this method did not find
      if (methods.includes(request.method)) return sendError(app.httpErrors.notFound('no such file'), request, reply)
      const allow = [...new Set(methods)].sort().join(', ')
      void reply.header('allow', allow)
      return sendError(
        app.httpErrors.methodNotAllowed(`${request.method} is not possible here, only ${allow}`),
        request,
        reply
      )
    }
    app.setNotFoundHandler(refuseUnknown)

    app.setErrorHandler<FastifyError | AppError>((error, request, reply) => {
      if (!request.is404 || !unreadable.has(error.code ?? '')) return sendError(error, request, reply)
      void reply.header('connection', 'close')
      return refuseUnknown(request, reply)
    })

    app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
      const body = JSON.stringify({ error: 'the only expectation that is met is 100-continue' })
      response.writeHead(417, { 'content-type': 'application/json; charset=utf-8', connection: 'close' }).end(body)
    })

    app.addHook('onSend', async (_request, reply) => {
      if (closing.has(reply.statusCode)) void reply.header('connection', 'close')
    })
  },
  { name: 'errors' }
)
