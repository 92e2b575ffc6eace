import type { StoredServer, Verdict } from '../../registry/model.ts'
import type { Deadlines } from '../deadlines.ts'
import { Payload } from '../payload.ts'
import type { Quota } from '../shares.ts'
import { hasMethod, noteMethod } from '../tried-methods.ts'
import type { Answer, Call, CallOrigin, UpstreamAnswer } from './call.ts'
import { createBreaker, type BreakerState } from './breaker.ts'
import { createCapabilityFilter } from './carried.ts'
import type { Connection, Era } from './connection.ts'
import { createKeyedMutex, type MutexLease } from './exclusive.ts'
import { redactFailure, UpstreamFailure, type FailureReason } from './failure.ts'
import { readError } from './http-message.ts'
import { sendRequest } from './lists.ts'
import { noteFailure } from './opener.ts'
import {
  createSessions,
  type Idle,
  type Need,
  type SessionCounts,
  type Sessions,
  type SessionsOptions
} from './sessions.ts'
import type { MayEnd, Slots } from './slots.ts'

export interface UpstreamOptions extends Omit<SessionsOptions, 'name' | 'transport' | 'mode' | 'verdict' | 'breaker'> {
  readonly server: Pick<StoredServer, 'name' | 'transport' | 'session_mode'>
  readonly verdict: Verdict
  readonly deadlines: Deadlines
  readonly shares: Quota
  /** Bytes of the requests of calls under way, of each principal. */
  readonly callBytes: Quota
  readonly callMs: number
  readonly callTotalMs: number
  /** Takes this server's secrets out of text: an upstream may quote them in its errors. */
  readonly redact: (text: string) => string
}

/** One registered server as the data plane reaches it. */
export interface Upstream {
  /** Sends a call within its limits; an answer or UpstreamFailure. Sent again only where it was proven not taken. */
  call(call: Call, origin: CallOrigin): Promise<UpstreamAnswer>
  /** Whether it is given a rest because connecting timed out again and again. */
  readonly breaker: BreakerState
  /** Calls under way. */
  readonly active: number
  /** A session of it that nobody uses, to be closed where another needs the place: a spare one, or that idle for longest. */
  longestIdle(pool: Slots, mayEnd: MayEnd): Idle | undefined
  counts(): SessionCounts
  /** It, or how it is reached, may not be the same any more: sessions that were kept ready are not used. */
  discardSpares(): void
  /** Keeps no session ready any more. */
  endSpares(): void
  notifyOwner(owner: string, method: string): void
  endOwner(owner: string): void
  /** Takes no more; closes when the calls under way have ended, and tells so. */
  retire(closed?: () => void): void
  close(): void
}

/** Ended by us, told to come back later, or waited for long enough: trying again is not the answer. */
const final: ReadonlySet<FailureReason> = new Set<FailureReason>(['overloaded', 'limited', 'cancelled', 'timeout'])

/** The connection broke; whether the upstream took the request is not known. */
const broken: ReadonlySet<FailureReason> = new Set<FailureReason>(['unreachable', 'crashed'])

/**
 * The wire for a caller: its own era where the upstream has it, so that nothing is lost (mcp-proxy.md#principles).
 * Where it is to
 * have a session it is the era that has sessions.
 */
export function chooseEra(
  { modern, legacy, hasSessions }: Verdict,
  { session_mode }: Pick<StoredServer, 'session_mode'>,
  caller: Era
): Era {
  if (modern === null) return 'legacy'
  if (legacy === null) return 'modern'
  return session_mode === 'stateful' && hasSessions ? 'legacy' : caller
}

const canBeAsked = (capabilities: string) => /"(sampling|elicitation|roots)"/.test(capabilities)

/**
 * A modern caller's questions belong to one call, but a pipe or event stream does not say to which, nor does the session's
 * own stream over HTTP, where a server has asked there: where several calls of callers who can be asked would share a session,
 * they go one at a time (mcp-proxy.md#asking-the-client). Who has been asked may take minutes to answer: until then
 * the next call has another
 * session.
 */
const goesAlone = ({ server, client, verdict }: UpstreamOptions, caller: Era, need: Need) =>
  caller === 'modern' &&
  need.era === 'legacy' &&
  server.session_mode === 'stateful' &&
  (server.transport !== 'streamable_http' || (verdict.hasSessions && client.hasSessionRequests === true)) &&
  canBeAsked(need.capabilities)

const LEVEL_MS = 5_000
const METHOD_NOT_FOUND = -32601

/** Its end was seen before the call was sent on it. */
const lost = () => new UpstreamFailure('unreachable', 'the session has ended', { maybeProcessed: false })

const limited = () => new UpstreamFailure('limited', 'too many of your calls are under way', { maybeProcessed: false })
const tooLarge = () =>
  new UpstreamFailure('limited', 'the calls that are under way have too large arguments together', {
    maybeProcessed: false
  })

/** Waits for a connection, but no longer than the call lives; one that comes too late is given back. */
function acquireFor(call: Call, sessions: Sessions, need: Need): Connection | Promise<Connection> {
  if (call.stopped) return Promise.reject(call.stopped)
  const opening = sessions.acquire(need)
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

export function createUpstream(options: UpstreamOptions): Upstream {
  const { server, verdict, client, deadlines, shares, callBytes, observer, callMs, callTotalMs, redact } = options
  const redacted = ({ body }: Answer): Answer => ({ kind: 'error', body: Payload.of(redact(body.toString())) })
  const breaker = createBreaker(() => sessions.discardSpares())
  const { name, transport, session_mode: mode } = server
  const sessions = createSessions({ ...options, name, transport, mode, verdict, breaker })
  const exclusive = createKeyedMutex()
  const carried = createCapabilityFilter()
  let active = 0
  let retired: (() => void) | null = null

  const close = () => {
    sessions.close()
    client.close()
  }
  /**
   * Once, on a fresh connection: what was not taken, and what only reads. `tools/call` may have run
   * (mcp-proxy.md#retries).
   */
  const mayRepeat = (error: unknown, call: Call) => {
    if (!(error instanceof UpstreamFailure) || final.has(error.reason) || call.stopped) return false
    return (
      (!error.maybeProcessed && error.retryAfter === undefined) ||
      (broken.has(error.reason) && call.request.method !== 'tools/call')
    )
  }

  /** The level that each session was last told, which only a session of its caller's can be. */
  const levels = new WeakMap<Connection, string>()
  const isLogging = verdict.capabilities.logging !== undefined
  const hasLevels = () => verdict.hasSessions && (isLogging || hasMethod(verdict, 'logging/setLevel') !== false)
  /** What the upstream makes of it is no concern of the call. */
  const setLevel = async (connection: Connection, level: string) => {
    levels.set(connection, level)
    const deadline = performance.now() + LEVEL_MS
    const answer = await sendRequest(connection, 'logging/setLevel', `"level":"${level}"`, deadline).catch(() => null)
    if (answer?.kind !== 'error' || isLogging || readError(answer).code !== METHOD_NOT_FOUND) return
    noteMethod(verdict, 'logging/setLevel', false)
  }

  /** What goes wrong under a call, without secrets. */
  const noted = (error: unknown, call: Call, connection: Connection): unknown => {
    if (error !== call.stopped) noteFailure(breaker, error)
    if (!(error instanceof UpstreamFailure)) return error
    if (error.reason !== 'cancelled') {
      observer.onConnectionFailure(name, error.reason, error.message)
      call.observation?.attachStderr(connection.stderr?.())
    }
    return redactFailure(error, redact)
  }
  const takeShare = (principal: string, bytes: number) => {
    if (!shares.acquire(principal)) throw limited()
    if (bytes === 0 || callBytes.acquire(principal, bytes)) return
    shares.release(principal)
    throw tooLarge()
  }
  const begin = (call: Call) => {
    active++
    call.observation?.startUpstream(redact, mode)
    deadlines.watch(call, callMs, callTotalMs)
  }
  const finish = (call: Call, principal: string | null) => {
    if (principal !== null) {
      shares.release(principal)
      if (call.countedBytes > 0) callBytes.release(principal, call.countedBytes)
    }
    deadlines.forget(call)
    call.observation?.endUpstream()
    active--
    if (active === 0) retired?.()
  }
  const needOf = (
    { sink, observation }: Call,
    { era, owner, callbacks, principal, holder = principal ?? undefined }: CallOrigin
  ): Need => ({
    era: chooseEra(verdict, server, era),
    owner,
    holder,
    capabilities: sink.capabilities,
    home: callbacks,
    wantsLogs: callbacks !== undefined || sink.logLevel !== undefined,
    observation,
    sink
  })

  return {
    // one function from here to the answer: a promise more is a measurable part of a call's cost
    async call(call, origin) {
      const { principal } = origin
      if (principal !== null) takeShare(principal, call.countedBytes)
      let need = needOf(call, origin)
      let turn: MutexLease | undefined
      begin(call)
      try {
        if (goesAlone(options, origin.era, need)) {
          turn = await exclusive.acquire(`${origin.owner} ${carried(need.capabilities)}`, call)
          need = { ...need, lane: turn.lane }
        }
        for (let isRepeated = false; ; isRepeated = true) {
          let connection: Connection | undefined
          try {
            const acquired = acquireFor(call, sessions, need)
            connection = acquired instanceof Promise ? await acquired : acquired
            const level = connection.era === 'legacy' && hasLevels() ? call.sink.logLevel : undefined
            if (level !== undefined && levels.get(connection) !== level) await setLevel(connection, level)
            if (call.stopped) throw call.stopped
            if (mode === 'stateless' && connection.closed) throw lost()
            call.observation?.markConnected(connection.greeting.version)
            const answer = await connection.send(call)
            breaker.recordResponse()
            return { answer: answer.kind === 'error' ? redacted(answer) : answer, era: need.era }
          } catch (error) {
            // what goes wrong in connecting is noted there
            const failure = connection ? noted(error, call, connection) : error
            if (isRepeated || !mayRepeat(failure, call)) throw failure
            sessions.discardSpares()
            need = { ...need, mustBeFresh: true }
          } finally {
            if (connection) sessions.release(connection)
          }
        }
      } finally {
        turn?.release()
        finish(call, principal)
      }
    },
    get active() {
      return active
    },
    get breaker() {
      return breaker.state
    },
    longestIdle: (pool, mayEnd) => sessions.longestIdle(pool, mayEnd),
    counts: () => sessions.counts(),
    discardSpares: () => sessions.discardSpares(),
    endSpares: () => sessions.endSpares(),
    notifyOwner: (owner, method) => sessions.notifyOwner(owner, method),
    endOwner: (owner) => sessions.endOwner(owner),
    retire(closed) {
      sessions.endSpares()
      retired = () => {
        close()
        closed?.()
      }
      if (active === 0) retired()
    },
    close
  }
}
