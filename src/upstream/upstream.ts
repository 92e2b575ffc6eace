import type { StoredServer, Negotiation } from '../registry/model/model.ts'
import type { Deadlines } from './transport/deadlines.ts'
import { Payload } from '../json/payload.ts'
import type { Quota } from '../lib/quota.ts'
import { principalIdOf } from '../catalog/caller.ts'
import { hasMethod, noteMethod } from '../catalog/undeclared-methods.ts'
import type { Answer, Call, CallOrigin, UpstreamAnswer } from './transport/call.ts'
import { createBreaker, type BreakerState } from './sessions/breaker.ts'
import { acceptsRequests, createCapabilityFilter } from './transport/capability-filter.ts'
import type { Connection, Era } from './transport/connection.ts'
import { createKeyedMutex, type MutexLease } from './sessions/keyed-mutex.ts'
import {
  administrators,
  messageOf,
  redactFailure,
  UpstreamFailure,
  type FailureReason
} from '../protocol/upstream-failure.ts'
import { readError } from './transport/message.ts'
import { sendRequest } from './discovery/list-items.ts'
import { recordFailure } from './sessions/connector.ts'
import {
  createUpstreamSessions,
  type IdleSession,
  type SessionRequest,
  type SessionCounts,
  type UpstreamSessions,
  type UpstreamSessionsOptions
} from './sessions/upstream-sessions.ts'
import type { MayReclaim, SlotPool } from './sessions/slot-pool.ts'
import type { StartTimes } from './sessions/start-meter.ts'

export interface UpstreamOptions extends Omit<
  UpstreamSessionsOptions,
  'name' | 'transport' | 'mode' | 'negotiation' | 'breaker'
> {
  readonly server: Pick<StoredServer, 'name' | 'transport' | 'session_mode'>
  readonly negotiation: Negotiation
  readonly deadlines: Deadlines
  readonly shares: Quota
  /** Bytes of requests in flight, per principal. */
  readonly callBytes: Quota
  readonly callTimeoutMs: number
  readonly callTotalMs: number
  /** Redacts this server's secrets: an upstream may quote them in its errors. */
  readonly redact: (text: string) => string
}

/** One registered server as seen by the data plane. */
export interface Upstream {
  /** Sends a call within its limits. Rejects with UpstreamFailure. Retried only if a retry is safe. */
  call(call: Call, origin: CallOrigin): Promise<UpstreamAnswer>
  /** State of the circuit breaker for connect timeouts. */
  readonly breaker: BreakerState
  /** Calls in flight. */
  readonly active: number
  /** Returns an unused session that may be closed to free its slot: a spare one, or the one idle longest. */
  findLongestIdle(pool: SlotPool, mayReclaim: MayReclaim): IdleSession | undefined
  counts(): SessionCounts
  /** Returns what starts and calls took, if each call has a session of its own; undefined without enough of both. */
  startTimes(): StartTimes | undefined
  /** Closes spare sessions, because the upstream or the way to reach it may have changed. */
  discardSpareSessions(): void
  /** Closes the spare pool for good. */
  closeSparePool(): void
  notifyOwner(owner: string, method: string): void
  closeOwner(owner: string): void
  /** Accepts no more calls; closes once the calls in flight have ended, then calls `onClosed`. */
  retire(onClosed?: () => void): void
  close(): void
}

/** Ended by the gateway, overloaded, or waited for long enough: a retry would not help. */
const notRetryable: ReadonlySet<FailureReason> = new Set<FailureReason>([
  'overloaded',
  'limited',
  'cancelled',
  'timeout'
])

/** The connection broke; the upstream may or may not have processed the request. */
const connectionLost: ReadonlySet<FailureReason> = new Set<FailureReason>(['unreachable', 'crashed'])

/**
 * Chooses the era for a caller: the caller's own if the upstream speaks it, so that nothing is lost in translation
 * (mcp-proxy.md#principles). A stateful server needs the era that has sessions.
 */
export function chooseEra(
  { modern, legacy, hasSessions }: Negotiation,
  { session_mode }: Pick<StoredServer, 'session_mode'>,
  caller: Era
): Era {
  if (modern === null) return 'legacy'
  if (legacy === null) return 'modern'
  return session_mode === 'stateful' && hasSessions ? 'legacy' : caller
}

/** Returns true if requests of modern callers reach the server over the modern wire. */
export const servesModern = (stored: Pick<StoredServer, 'negotiation' | 'session_mode'>): boolean =>
  stored.negotiation !== null && chooseEra(stored.negotiation, stored, 'modern') === 'modern'

/**
 * True if the call must not share its session with other running calls. A modern caller answers requests of one call,
 * but a pipe, an event stream or a session's own HTTP stream does not tell which call a request belongs to. If several
 * calls of callers that can answer requests would share a session, they run one at a time
 * (mcp-proxy.md#asking-the-client). A person may take minutes to answer: until then the next call uses another session.
 */
const needsExclusiveSession = (
  { server, client, negotiation }: UpstreamOptions,
  caller: Era,
  request: SessionRequest
) =>
  caller === 'modern' &&
  request.era === 'legacy' &&
  server.session_mode === 'stateful' &&
  (server.transport !== 'streamable_http' || (negotiation.hasSessions && client.hasSessionRequests === true)) &&
  acceptsRequests(request.capabilities)

const LEVEL_MS = 5_000
const METHOD_NOT_FOUND = -32601

/** Failure of a session that ended before the call was sent. */
const sessionEnded = () => new UpstreamFailure('unreachable', 'the session has ended', { maybeProcessed: false })

const tooManyCalls = () =>
  new UpstreamFailure('limited', 'too many of your calls are in progress', { maybeProcessed: false })
const tooLarge = () =>
  new UpstreamFailure('limited', 'the arguments of the calls in progress are too large in total', {
    maybeProcessed: false
  })

/** Waits for a connection, but no longer than the call lives; a connection that arrives later is released. */
function acquireFor(call: Call, sessions: UpstreamSessions, request: SessionRequest): Connection | Promise<Connection> {
  if (call.stopped) return Promise.reject(call.stopped)
  const opening = sessions.acquire(request)
  if (!(opening instanceof Promise)) return opening
  return new Promise((resolve, reject) => {
    call.onStop = (failure) => {
      reject(failure)
      opening.then(sessions.release, () => {})
    }
    opening.then((connection) => {
      if (call.stopped) return
      call.onStop = null
      resolve(connection)
    }, reject)
  })
}

/**
 * Retry once on a fresh connection if the upstream provably did not process the request, or if the request only reads.
 * `tools/call` may have run (mcp-proxy.md#retries).
 */
function isRetryable(error: unknown, call: Call): boolean {
  if (!(error instanceof UpstreamFailure) || notRetryable.has(error.reason) || call.stopped) return false
  return (
    (!error.maybeProcessed && error.retryAfter === undefined) ||
    (connectionLost.has(error.reason) && call.request.method !== 'tools/call')
  )
}

/** Log levels of the sessions of one upstream; a session with a level belongs to one caller. */
class LogLevels {
  /** Level last set on each session. */
  readonly #levels = new WeakMap<Connection, string>()
  readonly #negotiation: Negotiation
  readonly #isDeclared: boolean

  constructor(negotiation: Negotiation) {
    this.#negotiation = negotiation
    this.#isDeclared = negotiation.capabilities.logging !== undefined
  }

  /** True if `level` must be set on the session before the call. */
  mustSet(connection: Connection, level: string | undefined): level is string {
    if (level === undefined || connection.era !== 'legacy') return false
    return this.#isSupported() && this.#levels.get(connection) !== level
  }

  /** Sets the log level; a failure does not affect the call. */
  async set(connection: Connection, level: string): Promise<void> {
    this.#levels.set(connection, level)
    const deadline = performance.now() + LEVEL_MS
    const answer = await sendRequest(connection, 'logging/setLevel', `"level":"${level}"`, deadline).catch(() => null)
    if (answer?.kind !== 'error' || this.#isDeclared || readError(answer).code !== METHOD_NOT_FOUND) return
    noteMethod(this.#negotiation, 'logging/setLevel', false)
  }

  #isSupported(): boolean {
    return (
      this.#negotiation.hasSessions && (this.#isDeclared || hasMethod(this.#negotiation, 'logging/setLevel') !== false)
    )
  }
}

/** Counts a call and its bytes against the quotas of its principal. Throws UpstreamFailure if either is used up. */
function reserveShare({ shares, callBytes }: UpstreamOptions, principal: string, bytes: number): void {
  if (!shares.acquire(principal)) throw tooManyCalls()
  if (bytes === 0 || callBytes.acquire(principal, bytes)) return
  shares.release(principal)
  throw tooLarge()
}

const toSessionRequest = (
  { server, negotiation }: UpstreamOptions,
  call: Call,
  { era, owner, callbacks, principal, holder = principal ?? undefined }: CallOrigin
): SessionRequest => ({
  era: chooseEra(negotiation, server, era),
  owner,
  // a principal has one share of processes and sessions, however many tokens it uses
  holder: holder === undefined ? undefined : principalIdOf(holder),
  call,
  capabilities: call.sink.capabilities,
  callbacks,
  wantsLogs: callbacks !== undefined || call.sink.logLevel !== undefined,
  observation: call.observation,
  sink: call.sink
})

export function createUpstream(options: UpstreamOptions): Upstream {
  const { server, negotiation, client, deadlines, shares, callBytes, observer, callTimeoutMs, callTotalMs, redact } =
    options
  const redactAnswer = ({ body }: Answer): Answer => ({ kind: 'error', body: Payload.of(redact(body.toString())) })
  const breaker = createBreaker(() => sessions.discardSpareSessions())
  const { name, transport, session_mode: mode } = server
  const sessions = createUpstreamSessions({ ...options, name, transport, mode, negotiation, breaker })
  const mutex = createKeyedMutex()
  const filterCapabilities = createCapabilityFilter()
  const levels = new LogLevels(negotiation)
  let active = 0
  let onRetired: (() => void) | null = null

  const close = () => {
    sessions.close()
    client.close()
  }

  /** Records the failure of a call and returns it redacted. */
  const recordCallFailure = (error: unknown, call: Call, connection: Connection): unknown => {
    if (error !== call.stopped) recordFailure(breaker, error)
    if (!(error instanceof UpstreamFailure)) return error
    if (error.reason !== 'cancelled') {
      observer.onConnectionFailure(name, error.reason, messageOf(error, administrators))
      call.observation?.attachStderr(connection.stderr?.())
    }
    return redactFailure(error, redact)
  }
  const begin = (call: Call) => {
    active++
    call.observation?.startUpstream(redact, mode)
    deadlines.watch(call, callTimeoutMs, callTotalMs)
  }
  const finish = (call: Call, principal: string | null) => {
    if (principal !== null) {
      shares.release(principal)
      if (call.countedBytes > 0) callBytes.release(principal, call.countedBytes)
    }
    deadlines.forget(call)
    call.observation?.endUpstream()
    active--
    if (active === 0) onRetired?.()
  }

  return {
    // one function from here to the answer: each further promise is a measurable part of a call's cost
    async call(call, origin) {
      const { principal } = origin
      if (principal !== null) reserveShare(options, principal, call.countedBytes)
      let request = toSessionRequest(options, call, origin)
      let lease: MutexLease | undefined
      begin(call)
      try {
        if (needsExclusiveSession(options, origin.era, request)) {
          lease = await mutex.acquire(`${origin.owner} ${filterCapabilities(request.capabilities)}`, call)
          request = { ...request, lane: lease.lane }
        }
        for (let isRetry = false; ; isRetry = true) {
          let connection: Connection | undefined
          try {
            const acquired = acquireFor(call, sessions, request)
            connection = acquired instanceof Promise ? await acquired : acquired
            const { logLevel } = call.sink
            if (mode !== 'shared' && levels.mustSet(connection, logLevel)) await levels.set(connection, logLevel)
            if (call.stopped) throw call.stopped
            if (mode !== 'stateful' && connection.closed) throw sessionEnded()
            call.observation?.markConnected(connection.greeting.version)
            const meter = sessions.meterFor(request.era)
            const sentAt = meter ? performance.now() : 0
            const answer = await connection.send(call)
            breaker.recordResponse()
            // a refused call is over sooner than one that does something
            if (meter && answer.kind === 'result') meter.recordCall(performance.now() - sentAt)
            return { answer: answer.kind === 'error' ? redactAnswer(answer) : answer, era: request.era }
          } catch (error) {
            // connect failures have already been recorded
            const failure = connection ? recordCallFailure(error, call, connection) : error
            if (isRetry || !isRetryable(failure, call)) throw failure
            sessions.discardSpareSessions()
            request = { ...request, mustBeFresh: true }
          } finally {
            if (connection) sessions.release(connection)
          }
        }
      } finally {
        lease?.release()
        finish(call, principal)
      }
    },
    get active() {
      return active
    },
    get breaker() {
      return breaker.state
    },
    findLongestIdle: (pool, mayReclaim) => sessions.findLongestIdle(pool, mayReclaim),
    counts: () => sessions.counts(),
    startTimes: () => sessions.startTimes(),
    discardSpareSessions: () => sessions.discardSpareSessions(),
    closeSparePool: () => sessions.closeSparePool(),
    notifyOwner: (owner, method) => sessions.notifyOwner(owner, method),
    closeOwner: (owner) => sessions.closeOwner(owner),
    retire(onClosed) {
      sessions.closeSparePool()
      onRetired = () => {
        close()
        onClosed?.()
      }
      if (active === 0) onRetired()
    },
    close
  }
}
