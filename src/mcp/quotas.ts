import type { Quota } from '../lib/quota.ts'
import type { McpContext, RequestContext, HttpContext } from './request-context.ts'
import type { HttpReply } from './sessions/reply.ts'
import type { ResponseWriter } from './sessions/response-writer.ts'
import type { SessionLimit } from './sessions/client-sessions.ts'

/** Quotas per principal on the MCP endpoints (http-contract.md#errors). */
export interface McpQuotas {
  readonly calls: Quota
  /** Session ends being stored, counted apart from calls because ending a session stops its calls. */
  readonly ends: Quota
  /** Open listening streams. */
  readonly streams: Quota
  /** Subscribed resources. */
  readonly subscriptions: Quota
  /** Bytes stored for subscriptions. */
  readonly subscriptionBytes: Quota
}

type QuotaName = 'calls' | 'ends' | 'sessions' | 'streams' | 'subscriptions'

const stateWords: Record<QuotaName, string> = {
  calls: 'in progress',
  ends: 'in progress',
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

/** Sends 429, recorded in the audit log, if the principal's quota is used up, or 503 if the total is. */
export function refuseOverQuota(
  { dataPlane }: McpContext,
  request: Pick<RequestContext, 'caller' | 'endpoint' | 'address' | 'requestId'>,
  reply: ResponseWriter,
  quota: QuotaName,
  refusal: SessionLimit = 'limited'
): void {
  const headers = { 'retry-after': retryAfter[quota] }
  if (refusal === 'full') return reply.sendHttpError(503, `too many ${quota} are ${stateWords[quota]}`, headers)
  const text = `too many of your ${quota === 'ends' ? 'session ends' : quota} are ${stateWords[quota]}`
  dataPlane.refusals.auditLimit(request, quota, text)
  reply.sendHttpError(429, text, headers)
}

/** Reserves a listening stream until the connection closes; returns false after sending an error. */
export function takeStreamPlace(mcp: McpContext, http: HttpContext, reply: HttpReply | ResponseWriter): boolean {
  const { caller, response } = http
  const { streams } = mcp.quotas
  if (response.destroyed) return false
  const refusal = streams.size >= mcp.maxStreams ? 'full' : streams.acquire(caller.key) ? undefined : 'limited'
  if (refusal) {
    refuseOverQuota(mcp, http, reply, 'streams', refusal)
    return false
  }
  response.once('close', () => streams.release(caller.key))
  return true
}

/** Runs `work` as one call of the caller's quota; returns false after sending an error. */
export async function runAsCall(context: RequestContext, work: () => Promise<unknown>): Promise<boolean> {
  const { mcp, caller, reply } = context
  const { calls } = mcp.quotas
  if (!calls.acquire(caller.key)) {
    refuseOverQuota(mcp, context, reply, 'calls')
    return false
  }
  try {
    await work()
    return true
  } finally {
    calls.release(caller.key)
  }
}
