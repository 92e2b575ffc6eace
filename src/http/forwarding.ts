import { request as send, type Agent, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http'

/** Header with the address of the client's connection, which only the sockets between workers trust. */
export const PEER_HEADER = 'x-towpath-peer'

/** A request whose answer another worker gives. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** As the client sent it. */
  readonly url: string
  /** The body, if it was read already. */
  readonly body?: Buffer
  readonly socketPath: string
  readonly agent: Agent
  /** Called if the other worker does not take the connection; nothing of the request was read then. */
  readonly onUnreachable: () => void
}

/** Fields of one connection, and those that only a worker may set. */
const droppedFields = new Set(['connection', 'keep-alive', 'proxy-connection', 'upgrade', 'expect', PEER_HEADER])
const bodyFields = new Set(['content-length', 'transfer-encoding'])

const fieldsWithout = (raw: readonly string[], isDropped: (name: string, value: string) => boolean): string[] =>
  raw.flatMap((name, at) => {
    if (at % 2 === 1) return []
    const value = raw[at + 1]!
    return isDropped(name.toLowerCase(), value) ? [] : [name, value]
  })

function requestFields({ rawHeaders, headers, method, socket }: IncomingMessage, body: Buffer | undefined): string[] {
  const isDropped = (name: string) => droppedFields.has(name) || (body !== undefined && bodyFields.has(name))
  const fields = fieldsWithout(rawHeaders, isDropped)
  const hasLength = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  // without it Node would announce a body
  if (body) fields.push('content-length', String(body.length))
  else if (method === 'POST' && !hasLength) fields.push('content-length', '0')
  fields.push(PEER_HEADER, socket.remoteAddress ?? '')
  return fields
}

/** `Connection: close` is passed on: what closes the connection is said by the request, not by the way it took. */
const isDroppedFromAnswer = (name: string, value: string) =>
  name === 'connection' ? value.toLowerCase() !== 'close' : name === 'keep-alive' || name === 'transfer-encoding'

/** Sends the answer on as it arrives. If it breaks off, so does the client's connection. */
function passAnswer(answer: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 502, statusMessage, rawHeaders } = answer
  response.writeHead(statusCode, statusMessage, fieldsWithout(rawHeaders, isDroppedFromAnswer))
  // the events of a stream may come much later
  if (answer.headers['content-length'] === undefined) response.flushHeaders()
  answer.on('error', () => response.destroy())
  answer.pipe(response)
}

/** Calls `connected` once the request has a connection, before any of its body is read. */
function whenConnected(out: ClientRequest, connected: () => void): void {
  out.once('socket', (socket) => {
    if (socket.connecting) socket.once('connect', connected)
    else connected()
  })
}

/**
 * Lets another worker answer a request: streams both ways, as fast as the slower side reads, and ends one side when the
 * other one breaks off. A request that may have arrived is not sent again: if the worker dies, the client's connection
 * closes as it would if that worker had served it.
 */
export function forwardExchange(exchange: Exchange): void {
  const { request, response, url, body, socketPath, agent, onUnreachable } = exchange
  let isConnected = false
  let answer: IncomingMessage | undefined
  const out = send({ socketPath, agent, method: request.method, path: url, headers: requestFields(request, body) })
  out.once('response', (incoming) => {
    answer = incoming
    passAnswer(incoming, response)
  })
  out.on('error', () => {
    if (response.destroyed) return
    if (!isConnected) onUnreachable()
    else if (answer?.complete) request.unpipe(out).resume()
    else response.destroy()
  })
  response.once('close', () => {
    if (!answer?.complete) out.destroy()
  })
  whenConnected(out, () => {
    isConnected = true
    if (body) return void out.end(body)
    // a body that is still to come may be refused before it arrives
    if (!request.complete) out.flushHeaders()
    request.pipe(out)
  })
}
