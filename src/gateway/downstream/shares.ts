import type { Shares } from '../shares.ts'
import type { Edge, Exchange, HttpExchange } from './exchange.ts'
import type { Reply } from './reply.ts'
import type { Responder } from './responder.ts'
import type { NoPlace } from './session.ts'

/** What each principal has of what the MCP edge keeps, or does, for it (http-contract.md#errors). */
export interface EdgeShares {
  readonly calls: Shares
  /** Ends of sessions that are being stored: apart from calls, since ending a session stops its calls. */
  readonly ends: Shares
  /** Connections that only listen. */
  readonly streams: Shares
  /** Resources that are followed. */
  readonly subscriptions: Shares
  /** What is kept of them. */
  readonly subscriptionBytes: Shares
}

type Asked = 'calls' | 'ends' | 'sessions' | 'streams' | 'subscriptions'

const states: Record<Asked, string> = {
  calls: 'under way',
  ends: 'under way',
  sessions: 'open',
  streams: 'open',
  subscriptions: 'open'
}
const retryAfter: Record<Asked, string> = { calls: '1', ends: '1', sessions: '30', streams: '30', subscriptions: '30' }

/** Answers who has its share already (429, which is audited), or comes when nobody can have more (503). */
export function refuseMore(
  { core }: Edge,
  asking: Pick<Exchange, 'caller' | 'endpoint' | 'address' | 'requestId'>,
  reply: Responder,
  what: Asked,
  why: NoPlace = 'limited'
): void {
  const headers = { 'retry-after': retryAfter[what] }
  if (why === 'full') return reply.plain(503, `too many ${what} are ${states[what]}`, headers)
  const text = `too many of your ${what === 'ends' ? 'session ends' : what} are ${states[what]}`
  core.refusals.auditLimit(asking, what, text)
  reply.plain(429, text, headers)
}

/** A place for a connection that only listens, for as long as it is open; false: refused and told so. */
export function takeStream(edge: Edge, http: HttpExchange, reply: Reply | Responder): boolean {
  const { caller, response } = http
  const { streams } = edge.shares
  if (response.destroyed) return false
  const why = streams.size >= edge.maxStreams ? 'full' : streams.take(caller.key) ? undefined : 'limited'
  if (why) {
    refuseMore(edge, http, reply, 'streams', why)
    return false
  }
  response.once('close', () => streams.give(caller.key))
  return true
}

/** Does work that upstreams are asked for as one call of its caller; false: refused and told so. */
export async function asCall(exchange: Exchange, work: () => Promise<unknown>): Promise<boolean> {
  const { edge, caller, reply } = exchange
  const { calls } = edge.shares
  if (!calls.take(caller.key)) {
    refuseMore(edge, exchange, reply, 'calls')
    return false
  }
  try {
    await work()
    return true
  } finally {
    calls.give(caller.key)
  }
}
