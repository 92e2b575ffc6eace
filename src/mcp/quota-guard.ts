import type { Quota } from '../lib/quota.ts'
import type { HttpContext } from './http-context.ts'
import type { McpRefusals, RefusedRequest } from './mcp-refusals.ts'
import type { SessionLimit } from './sessions/client-sessions.ts'
import type { RequestContext } from './sessions/request-context.ts'
import type { ResponseWriter } from './sessions/response-writer.ts'

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

export interface QuotaGuardOptions {
  /** Concurrent calls per principal. */
  readonly calls: Quota
  /** Open listening streams per principal. */
  readonly streams: Quota
  /** Limit of open listening streams, over all principals. */
  readonly maxStreams: number
  readonly refusals: Pick<McpRefusals, 'auditLimit'>
}

/** Applies the quotas per principal on the MCP endpoints, and refuses requests beyond them (http-contract.md#errors). */
export class QuotaGuard {
  readonly #options: QuotaGuardOptions

  constructor(options: QuotaGuardOptions) {
    this.#options = options
  }

  /** Sends 429, recorded in the audit log, if the principal's quota is used up, or 503 if the total is. */
  refuse(request: RefusedRequest, reply: ResponseWriter, quota: QuotaName, refusal: SessionLimit = 'limited'): void {
    const headers = { 'retry-after': retryAfter[quota] }
    if (refusal === 'full') return reply.sendHttpError(503, `too many ${quota} are ${stateWords[quota]}`, headers)
    const text = `too many of your ${quota === 'ends' ? 'session ends' : quota} are ${stateWords[quota]}`
    this.#options.refusals.auditLimit(request, quota, text)
    reply.sendHttpError(429, text, headers)
  }

  /** Reserves a listening stream until the connection closes; returns false after sending an error. */
  reserveStream(http: HttpContext, reply: ResponseWriter): boolean {
    const { caller, response } = http
    const { streams, maxStreams } = this.#options
    if (response.destroyed) return false
    const refusal = streams.size >= maxStreams ? 'full' : streams.acquire(caller.key) ? undefined : 'limited'
    if (refusal) {
      this.refuse(http, reply, 'streams', refusal)
      return false
    }
    response.once('close', () => streams.release(caller.key))
    return true
  }

  /** Runs `work` as one call of the caller's quota; returns false after sending an error. */
  async runAsCall(context: RequestContext, work: () => Promise<unknown>): Promise<boolean> {
    const { caller, reply } = context
    const { calls } = this.#options
    if (!calls.acquire(caller.key)) {
      this.refuse(context, reply, 'calls')
      return false
    }
    try {
      await work()
      return true
    } finally {
      calls.release(caller.key)
    }
  }
}
