import { PRODUCT } from '../../domain/product.ts'
import { timeLeft } from '../../domain/timers.ts'
import type { Connection, SessionRequestHandler, OpenOptions, TransportClient } from '../transport/connection.ts'
import { UpstreamFailure, connectionClosed } from '../../protocol/upstream-failure.ts'
import { statusFailure } from './failure.ts'
import {
  MAX_UNAWAITED_POSTS,
  UNAWAITED_POST_TIMEOUT_MS,
  type HttpPool,
  type PostResponse,
  createHttpPool
} from './pool.ts'
import { baseHeaders, streamHeaders } from './request.ts'
import type { HttpClientOptions } from './streamable-http-client.ts'
import { clientInfo, initialize } from '../transport/handshake.ts'
import { type JsonRpcPeer, type JsonRpcPeerOptions, createJsonRpcPeer } from '../transport/jsonrpc-peer.ts'
import { type SseStream, openSseStream } from './sse-stream.ts'

export interface SseConnection extends Connection {
  onRequest: SessionRequestHandler | null
}

export interface SseClient extends TransportClient {
  open(options: OpenOptions): Promise<SseConnection>
}

/** State shared by all connections to one upstream. */
interface ClientContext {
  readonly options: HttpClientOptions
  readonly pool: HttpPool
  readonly headers: string[]
  readonly hasCredential: boolean
}

const POST_TIMEOUT_MS = 30_000
const DEFAULT_MAX_REQUESTS = 4096

const overloaded = () =>
  new UpstreamFailure('overloaded', 'too many requests are in progress', { maybeProcessed: false })

/**
 * Returns the failure for a refused message, null for an accepted one. An unknown session proves that the message was
 * not processed.
 */
function postFailure({ status, headers }: PostResponse, hasCredential: boolean): UpstreamFailure | null {
  if (status < 300) return null
  if (status !== 404) return statusFailure(status, headers, hasCredential)
  return new UpstreamFailure('unreachable', 'no longer knows the session (HTTP 404)', {
    status,
    maybeProcessed: false
  })
}

/** Runs the conversation over an open stream: answers arrive on the stream, messages are posted to its endpoint. */
function createConversation(context: ClientContext, stream: SseStream, path: string, isShared = false) {
  const { pool, headers, hasCredential } = context
  let connection: SseConnection | null = null
  let isClosed = false
  /** Settles when the last message other than an answer has been accepted or refused. */
  let lastPost: Promise<void> = Promise.resolve()
  let posting = 0
  let answering = 0

  const end = (failure: UpstreamFailure) => {
    if (isClosed) return
    isClosed = true
    peer.fail(failure)
    stream.close()
    connection?.onClose?.()
  }
  const post = (text: string, timeoutMs: number, refuse?: (failure: UpstreamFailure) => void, isAnswer = false) =>
    pool.message('POST', headers, text, { timeoutMs, path, isAnswer }).then(
      (posted) => {
        // thousands may have waited for a server that ends its stream
        const failure = isClosed ? null : postFailure(posted, hasCredential)
        if (!failure) return
        refuse?.(failure)
        if (failure.status === 404) end(failure)
      },
      (failure: UpstreamFailure) => refuse?.(failure)
    )
  const write: JsonRpcPeerOptions['write'] = (text, refuse, isAnswer) => {
    // the server decides how many answers there are, the gateway how many other messages
    if (isAnswer) {
      if (answering >= MAX_UNAWAITED_POSTS) return
      answering++
      void post(text, UNAWAITED_POST_TIMEOUT_MS, refuse, isAnswer).finally(() => answering--)
    } else {
      if (posting >= DEFAULT_MAX_REQUESTS) return refuse?.(overloaded())
      posting++
      lastPost = post(text, POST_TIMEOUT_MS, refuse).finally(() => posting--)
    }
  }
  const peer: JsonRpcPeer = createJsonRpcPeer({
    write,
    onNotification: (method, params) => connection?.onNotification?.(method, params),
    onRequest: () => connection?.onRequest ?? null,
    memory: context.options.memory,
    isShared,
    screen: context.options.screen
  })
  stream.onMessage = function* (data) {
    if (!(yield* peer.receive(data))) context.options.onDropped?.('sent an event that is not a JSON-RPC message')
  }
  stream.onEnd = end

  const connect = async (open: OpenOptions): Promise<SseConnection> => {
    const greeting = await initialize(peer, clientInfo(context.options.version), open)
    // posts may overtake each other: wait until `initialized` has arrived
    await lastPost
    const maxRequests = context.options.maxRequests ?? DEFAULT_MAX_REQUESTS
    connection = {
      era: 'legacy',
      greeting,
      get closed() {
        return isClosed
      },
      send: (call) => (peer.pendingCount < maxRequests ? peer.send(call) : Promise.reject(overloaded())),
      notify: (method, params) => peer.notify(method, params),
      close: () => end(connectionClosed()),
      onClose: null,
      onNotification: null,
      onRequest: null
    }
    return connection
  }
  return { connect, end }
}

/** Returns the target if the GET was redirected. */
const locationOf = (error: unknown) =>
  error instanceof UpstreamFailure && error.status !== undefined && error.status >= 300 && error.status < 400
    ? (error.cause as { location?: string }).location
    : undefined

async function openConnection(
  context: ClientContext,
  open: OpenOptions,
  streams: Set<SseStream>
): Promise<SseConnection> {
  const { options, pool, headers, hasCredential } = context
  const { path } = pool
  const url = new URL(path, options.url).href
  if (open.timings) open.timings.startedAt = performance.now()
  const stream = openSseStream({
    url,
    maxEventBytes: options.maxResponseBytes,
    memory: options.memory,
    reads: options.reads,
    hasCredential
  })
  streams.add(stream)
  const expire = () => stream.fail(new UpstreamFailure('timeout', 'opened no event stream in time'))
  const timer = setTimeout(expire, timeLeft(open.deadline))
  stream.onClose = () => streams.delete(stream)
  pool.stream(streamHeaders(headers), stream.handler)
  try {
    const endpoint = await stream.endpoint
    clearTimeout(timer)
    if (open.timings) open.timings.initializeAt = performance.now()
    return await createConversation(context, stream, endpoint, open.isShared).connect(open)
  } catch (error) {
    stream.close()
    const location = locationOf(error)
    if (location !== undefined && pool.followRedirect(path, location))
      return await openConnection(context, open, streams)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Creates a client of the HTTP+SSE transport of revision 2024-11-05; legacy only. Each connection is one event stream.
 */
export function createSseClient(options: HttpClientOptions): SseClient {
  const { url, connector, authorization } = options
  const connections = options.connections ?? 1
  const maxRequests = options.maxRequests ?? DEFAULT_MAX_REQUESTS
  const context: ClientContext = {
    options,
    pool: createHttpPool({ url, connector, authorization, connections, maxRequests }),
    headers: baseHeaders(options.headers, `${PRODUCT}/${options.version}`),
    hasCredential: Object.keys(options.headers).some((name) => name.toLowerCase() === 'authorization')
  }
  const streams = new Set<SseStream>()
  return {
    open: (open) =>
      open.era === 'legacy'
        ? openConnection(context, open, streams)
        : Promise.reject(
            new UpstreamFailure('bad_response', 'the SSE transport has no modern era', { maybeProcessed: false })
          ),
    close() {
      for (const stream of streams) stream.fail(connectionClosed())
      context.pool.close()
    }
  }
}
