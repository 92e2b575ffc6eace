import type { Shares } from '../shares.ts'
import type { McpContext, RequestContext, HttpContext } from './exchange.ts'
import type { HttpReply } from './reply.ts'
import type { ResponseWriter } from './responder.ts'
import type { SessionLimit } from './session.ts'

/** What each principal has of what the MCP edge keeps, or does, for it (http-contract.md#errors). */
export interface McpQuotas {
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

type QuotaName = 'calls' | 'ends' | 'sessions' | 'streams' | 'subscriptions'

const states: Record<QuotaName, string> = {
  calls: 'under way',
  ends: 'under way',
  sessions: 'open',
  streams: 'open',
  subscriptions: 'open'
}
const retryAfter: Record<QuotaName, string> = {
  calls: '1',
  ends: '1',
  sessions: '30',
  streams: '30',
  subscriptions: '30'
}

/** Answers who has its share already (429, which is audited), or comes when nobody can have more (503). */
export function refuseOverQuota(
  { dataPlane }: McpContext,
  request: Pick<RequestContext, 'caller' | 'endpoint' | 'address' | 'requestId'>,
  reply: ResponseWriter,
  quota: QuotaName,
  refusal: SessionLimit = 'limited'
): void {
  const headers = { 'retry-after': retryAfter[quota] }
  if (refusal === 'full') return reply.sendHttpError(503, `too many ${quota} are ${states[quota]}`, headers)
  const text = `too many of your ${quota === 'ends' ? 'session ends' : quota} are ${states[quota]}`
  dataPlane.refusals.auditLimit(request, quota, text)
  reply.sendHttpError(429, text, headers)
}

/** A place for a connection that only listens, for as long as it is open; false: refused and told so. */
export function takeStreamPlace(mcp: McpContext, http: HttpContext, reply: HttpReply | ResponseWriter): boolean {
  const { caller, response } = http
  const { streams } = mcp.quotas
  if (response.destroyed) return false
  const refusal = streams.size >= mcp.maxStreams ? 'full' : streams.take(caller.key) ? undefined : 'limited'
  if (refusal) {
    refuseOverQuota(mcp, http, reply, 'streams', refusal)
    return false
  }
  response.once('close', () => streams.give(caller.key))
  return true
}

/** Does work that upstreams are asked for as one call of its caller; false: refused and told so. */
export async function runAsCall(context: RequestContext, work: () => Promise<unknown>): Promise<boolean> {
  const { mcp, caller, reply } = context
  const { calls } = mcp.quotas
  if (!calls.take(caller.key)) {
    refuseOverQuota(mcp, context, reply, 'calls')
    return false
  }
  try {
    await work()
    return true
  } finally {
    calls.give(caller.key)
  }
}
