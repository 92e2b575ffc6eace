import { TITLE, PRODUCT } from '../domain/product.ts'
import type { OwnsId } from '../domain/worker-ids.ts'
import { groupOf } from '../catalog/endpoint.ts'
import type { CurrentScopes } from '../catalog/scope.ts'
import type { SearchIndex } from '../catalog/search-index.ts'
import type { ToolVectors } from '../catalog/vectors/tool-vectors.ts'
import type { Config } from '../config/config.ts'
import type { BatchScheduler } from '../lib/batch-scheduler.ts'
import type { SlicedWork } from '../lib/time-slice.ts'
import type { Quota, Quotas } from '../lib/quota.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import type { RecordClient } from '../observe/client-activity.ts'
import type { Observer } from '../observe/observation.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import type { Registry } from '../registry/registry.ts'
import type { EndedSession, SessionEnd } from '../registry/session-ends.ts'
import type { ClientCalls } from '../upstream/client-calls.ts'
import type { TaskStreams } from '../upstream/task-streams.ts'
import {
  callMethodFactory,
  createCallMethods,
  createResultReader,
  createSkillMethods,
  TargetResolver
} from './call-methods.ts'
import { CallReplies } from './call-replies.ts'
import type { InboundLimits } from './batches/batch.ts'
import { Dispatcher } from './dispatcher.ts'
import { CallForwarder } from './forward.ts'
import { findSession, type HttpContext } from './http-context.ts'
import { HttpSse, type PostedMessage } from './http-sse.ts'
import type { ApprovalGate } from './approvals/approval-gate.ts'
import type { ApprovalWaits } from './approvals/approval-waits.ts'
import { createYesStates } from './approvals/yes-states.ts'
import { AskedCalls } from './approvals/asked-calls.ts'
import { createApprovalTaskRequests } from './approvals/task-requests.ts'
import { createTaskRunner, type TaskRunner, type TaskRunnerOptions } from './approvals/task-runner.ts'
import { createElicitations } from './input/elicitations.ts'
import { createInputRequiredStore } from './input/input-required-store.ts'
import type { PendingCall } from './input/pending-call.ts'
import { LegacyMessages } from './legacy.ts'
import type { ListChangeNotifier } from './list-change-notifier.ts'
import { createListMethods } from './list-methods.ts'
import { ListenStreams } from './listen-streams.ts'
import type { McpRefusals } from './mcp-refusals.ts'
import type { PolicyGate } from './policy-gate.ts'
import { createClientInfoCache } from './messages/client-info.ts'
import { createCursors } from './messages/cursor.ts'
import { accepts } from './messages/era.ts'
import { createResourceLinks } from './messages/resource-links.ts'
import { ResultSender } from './method.ts'
import { ModernRequests } from './modern.ts'
import { QuotaGuard } from './quota-guard.ts'
import type { Subscriptions } from './subscriptions/resource-subscriptions.ts'
import { createSessionDeletion, endSession, expireSession } from './session-end.ts'
import { LargeResults } from './results/large-results.ts'
import { SearchTools } from './search-tools.ts'
import { createSessionMethods } from './session-methods.ts'
import { ownerOf, SessionRelay } from './session-relay.ts'
import { createClientSessions, type Session } from './sessions/client-sessions.ts'
import { createEventStore } from './sessions/event-store.ts'
import { createHeartbeat } from './sessions/heartbeat.ts'
import { HttpReply } from './sessions/reply.ts'
import type { RequestContext } from './sessions/request-context.ts'
import type { ResponseWriter, RunHandler } from './sessions/response-writer.ts'
import { createUnsentResponses } from './sessions/unsent-responses.ts'
import { SubscriptionsListen } from './subscriptions-listen.ts'
import { createNewTasks, createTaskMethods } from './task-methods.ts'
import { createTaskHandles } from './tasks/handles.ts'
import { createSharedPolls } from './tasks/shared-polls.ts'
import { createTaskLog, type TaskLogOptions } from './tasks/task-log.ts'
import { TaskSubscriptions } from './tasks/task-subscriptions.ts'

/** Session ends stored concurrently: the database pool has ten connections, the embedded store one. */
const MAX_CONCURRENT_SESSION_ENDS = 2

/** Request handlers of the MCP endpoints. They never throw; each call answers its HTTP request. */
export interface Downstream {
  post(http: HttpContext, body: Buffer): void
  /** Returns the `requestState` of this gateway in a body, whose worker has the parked call; undefined if there is none. */
  ownStateIn(body: Buffer): string | undefined
  /** Returns true if the body contains only responses and notifications, no requests. */
  startsNoWork(body: Buffer): boolean
  get(http: HttpContext): void
  delete(http: HttpContext): void
  /** Opens an HTTP+SSE stream; `companion` is the path sent to the client for its POST requests. */
  openSse(http: HttpContext, companion: string): void
  postToSse(http: HttpContext, posted: PostedMessage): void
  /** Number of sessions known to this replica. */
  readonly sessionCount: number
  /** Number of calls that wait for input from their callers. */
  readonly parkedCalls: number
  /** Drops sessions that other replicas have ended. */
  removeEndedSessions(ends: readonly EndedSession[]): void
  /** Relays `notifications/elicitation/complete` of a server to the client concerned; `params` is JSON text. */
  completeElicitation(server: string, params: string): void
  /** Schedules `list_changed` notifications after the catalog was replaced. */
  scheduleListChanges(): void
  /** Returns the number of active calls of legacy sessions and of tasks, including those that no HTTP request waits for. */
  countSessionCalls(): number
  /** Calls that the gateway makes itself after a yes. */
  readonly approvalTasks: TaskRunner
  /** Closes the listening streams that no active call needs for its response. */
  endIdleStreams(): void
  /** Ends all sessions and streams of a deleted group, including their calls. */
  endGroup(name: string): void
  /** Ends everything open for principals whose token was revoked or rotated: sessions, streams and calls. */
  endPrincipals(isRevoked: (principal: string) => boolean): void
  /** Ends every open stream. */
  close(): void
}

export interface DownstreamOptions {
  readonly registry: Pick<Registry, 'sessionEnds' | 'deriveKey' | 'usedAssertions' | 'results'>
  readonly config: Pick<Config, 'limits' | 'timeouts'>
  /** Tests if requests with an id of a session or parked call reach this worker; undefined: all do. */
  readonly ownsId?: OwnsId | undefined
  /** Product version. */
  readonly version: string
  readonly clientCalls: ClientCalls
  /** Sends requests about tasks, which the call log does not list. */
  readonly taskCalls: ClientCalls
  readonly taskStreams: Pick<TaskStreams, 'open'>
  /** Returns a function that removes a server's secrets from a text. */
  readonly redactorOf: TaskLogOptions['redactorOf']
  readonly observer: Pick<Observer, 'onList' | 'onCall' | 'onSearch' | 'onSearchHit'>
  readonly searchIndex: Pick<SearchIndex, 'of'>
  /** Undefined without a model. */
  readonly toolVectors: Pick<ToolVectors, 'nearest'> | undefined
  readonly scopes: CurrentScopes
  readonly refusals: McpRefusals
  readonly policies: PolicyGate
  readonly approvals: {
    readonly gate: ApprovalGate
    readonly waits: ApprovalWaits
    readonly tasks: TaskRunnerOptions['store']
  } & Pick<TaskRunnerOptions, 'currentCaller' | 'isWanted'>
  readonly recordClient: RecordClient
  readonly listChanges: ListChangeNotifier
  readonly subscriptions: Subscriptions
  /** Concurrent calls per principal. */
  readonly calls: Quota
  readonly quotas: Quotas
  readonly schedule: BatchScheduler
  readonly slices: SlicedWork
  /** The upstream sessions of a client's session, by their owner's key. */
  readonly upstreamSessions: {
    notifyOwner(owner: string, method: string): void
    closeOwner(owner: string): void
  }
  readonly log: { warn(details: object, text: string): void; error(details: object, text: string): void }
}

type State = ReturnType<typeof createState>

/** Creates the state that requests share. */
function createState({ registry, config, quotas, upstreamSessions, ownsId, log }: DownstreamOptions) {
  const { limits, timeouts } = config
  const eventStore = createEventStore()
  const elicitations = createElicitations()
  const runLimited = createSemaphore(MAX_CONCURRENT_SESSION_ENDS).run
  const storeSessionEnd = (end: SessionEnd) => runLimited(() => registry.sessionEnds.add(end))
  const onEnd = (session: Session) => {
    session.serverRequests?.close()
    session.subscriptions?.close()
    for (const stream of session.streams) stream.close()
    session.detachedStream?.close()
    eventStore.endSession(session)
    elicitations.endSession(session)
    upstreamSessions.closeOwner(ownerOf(session))
  }
  const sessions = createClientSessions({
    key: registry.deriveKey('mcp session ids'),
    owns: ownsId,
    maxSessions: limits.sessions,
    quota: quotas.forUnits(limits.sessionsPerPrincipal),
    sessionIdleMs: timeouts.sessionIdleMs,
    announceEnd(end) {
      storeSessionEnd(end).catch((err: unknown) => log.warn({ err }, 'other replicas do not know that a session ended'))
    },
    onEnd
  })
  return {
    sessions,
    storeSessionEnd,
    eventStore,
    elicitations,
    heartbeat: createHeartbeat(),
    inputRequiredStore: createInputRequiredStore<PendingCall>(registry.deriveKey('request states'), ownsId),
    clientInfoCache: createClientInfoCache()
  }
}

/** Returns the limits of one message. */
const inboundLimits = (limits: Config['limits']): InboundLimits => ({
  depth: limits.jsonDepth,
  elements: limits.jsonElements,
  identifierBytes: limits.identifierBytes,
  maxBatch: limits.batch
})

/** Creates the handlers of the methods of both eras. */
function createMessageHandlers(options: DownstreamOptions, state: State, quotaGuard: QuotaGuard) {
  const { registry, config, version, clientCalls: calls, observer, scopes, refusals, recordClient } = options
  const { policies, quotas, schedule, slices, listChanges, subscriptions, upstreamSessions } = options
  const { sessions, elicitations, heartbeat, inputRequiredStore, clientInfoCache } = state
  const { limits } = config
  const identity = { name: PRODUCT, title: TITLE, version }
  const results = new ResultSender(identity)
  const resourceLinks = createResourceLinks()
  const relay = new SessionRelay({ scopes, elicitations, calls })
  const replies = new CallReplies({ elicitations, resourceLinks, slices, refusals, identity })
  const forwarder = new CallForwarder({ calls, replies, relay, elicitations, inputRequiredStore, heartbeat, identity })
  const handles = createTaskHandles(registry.deriveKey('task handles'), config.timeouts.taskHandleDays)
  const newTasks = createNewTasks(handles, limits.identifierBytes)
  const taskLog = createTaskLog({ observer, redactorOf: options.redactorOf })
  const searchTools = new SearchTools({
    ...{ index: options.searchIndex, vectors: options.toolVectors },
    ...{ results, observer, limits: inboundLimits(limits) }
  })
  const largeResults = new LargeResults({
    store: registry.results,
    key: registry.deriveKey('tool results'),
    log: options.log
  })
  const yesStates = createYesStates(registry.deriveKey('confirmations'), registry.usedAssertions)
  const targets = new TargetResolver({
    ...{ refusals, policies, resourceLinks, results, newTasks },
    inputRequiredStore: {
      isOwnState: (state): state is string => inputRequiredStore.isOwnState(state) || yesStates.isOwn(state)
    },
    redactorOf: options.redactorOf,
    largeResults,
    sendUnknown: (context, name) => searchTools.sendUnknown(context, name)
  })
  const subscriptionParts = {
    scopes,
    subscriptions,
    countQuota: quotas.forUnits(limits.subscriptionsPerPrincipal),
    byteQuota: quotas.forBytes(limits.subscriptionBytes)
  }
  const resolve = (context: RequestContext) => targets.item('tool', context, context.observation!)
  const { tasks: store, gate, waits, currentCaller, isWanted } = options.approvals
  const serverInfo = JSON.stringify(identity)
  const ownTasks = createApprovalTaskRequests({ store, handles, results, quotaGuard, serverInfo })
  const taskRunner = createTaskRunner({
    ...{ store, calls, forwarder, replies, results, scopes, resolve, currentCaller, isWanted },
    log: options.log
  })
  const askedCalls = new AskedCalls({
    ...{ forwarder, scopes, results, heartbeat, inputRequiredStore, yesStates, gate, waits, resolve, serverInfo },
    redactorOf: options.redactorOf,
    tasks: ownTasks
  })
  const callMethod = callMethodFactory({ calls, forwarder, askedCalls, replies, clientInfoCache })
  const methods = new Map([
    ...createListMethods({ cursors: createCursors(registry.deriveKey('list cursors')), results, observer, schedule }),
    ...createCallMethods(targets, callMethod, searchTools, createResultReader(largeResults, results)),
    ...createSkillMethods({ callMethod, refusals, policies, results })
  ])
  const taskMethods = createTaskMethods({
    ...{
      handles,
      replies,
      heartbeat,
      quotaGuard,
      clientInfoCache,
      resourceLinks,
      calls: options.taskCalls,
      log: taskLog,
      ownTasks
    },
    polls: createSharedPolls()
  })
  const sessionMethods = createSessionMethods({ relay, subscriptionParts, quotaGuard, refusals, policies, results })
  const listen = new SubscriptionsListen({
    ...{ calls, scopes, policies, subscriptionParts, listChanges, heartbeat, quotaGuard, identity },
    tasks: new TaskSubscriptions({
      ...{ handles, scopes, clientInfoCache, log: taskLog, resourceLinks, streams: options.taskStreams },
      countQuota: subscriptionParts.countQuota
    }),
    identifierBytes: limits.identifierBytes
  })
  return {
    taskRunner,
    legacy: new LegacyMessages({
      ...{ sessions, quotaGuard, identity, recordClient, results },
      notifyOwner: (owner, method) => upstreamSessions.notifyOwner(owner, method),
      methods: new Map([...sessionMethods, ...methods])
    }),
    modern: new ModernRequests({
      ...{ recordClient, clientInfoCache, listen, quotaGuard, results },
      methods: new Map([...methods, ...taskMethods])
    })
  }
}

/** Returns the function that runs a handler and answers its errors. */
function createRunHandler(log: DownstreamOptions['log']): RunHandler {
  const fail = (requestId: string, reply: ResponseWriter, error: unknown) => {
    if (error instanceof ProtocolError) {
      const { id, code, message, status, data, challenge } = error
      return reply.sendError(id, code, message, { status, data, challenge })
    }
    log.error({ request_id: requestId, err: error }, 'an MCP request failed')
    reply.sendError('null', codes.internal, 'Internal error', { status: 500 })
  }
  return (requestId, reply, work) => {
    try {
      const promise = work()
      if (promise) promise.catch((error: unknown) => fail(requestId, reply, error))
    } catch (error) {
      fail(requestId, reply, error)
    }
  }
}

/** Creates the functions that handle one kind of HTTP request each; they throw or reject with ProtocolError. */
function createEndpoints(options: DownstreamOptions, state: State, run: RunHandler) {
  const { config, scopes, refusals, listChanges, calls, quotas } = options
  const { sessions, storeSessionEnd, eventStore, heartbeat, clientInfoCache } = state
  const settings = config.limits
  const streamQuota = quotas.forUnits(settings.sessionsPerPrincipal)
  const quotaGuard = new QuotaGuard({ calls, streams: streamQuota, maxStreams: settings.sessions, refusals })
  const { legacy, modern, taskRunner } = createMessageHandlers(options, state, quotaGuard)
  const limits = inboundLimits(settings)
  const streams = new ListenStreams({ scopes, listChanges, heartbeat, eventStore, quotaGuard })
  const ends = quotas.forUnits(settings.callsPerPrincipal)
  return {
    taskRunner,
    dispatcher: new Dispatcher({
      ...{ sessions, scopes, clientInfoCache, eventStore, heartbeat, legacy, modern, limits, run },
      maxBatchBytes: settings.batchBytes
    }),
    httpSse: new HttpSse({ sessions, scopes, streams, legacy, heartbeat, quotaGuard, limits, run }),
    streams,
    deleteSession: createSessionDeletion({ sessions, storeSessionEnd, ends, quotaGuard })
  }
}

/** Creates the handlers of one gateway and the state that they share. */
export function createDownstream(options: DownstreamOptions): Downstream {
  const { config, quotas, listChanges, log } = options
  const state = createState(options)
  const { sessions, heartbeat, inputRequiredStore } = state
  const { streamBufferBytes: maxBufferedBytes, unsentBytes } = config.limits
  const unsentResponses = createUnsentResponses(quotas.limitOf(unsentBytes), unsentBytes)
  const run = createRunHandler(log)
  const { dispatcher, httpSse, streams, deleteSession, taskRunner } = createEndpoints(options, state, run)
  const serve = (http: HttpContext, work: (reply: HttpReply) => Promise<void> | void) => {
    const acceptsStream = accepts(http.headers, 'text/event-stream')
    const principal = http.caller.key
    const reply = new HttpReply(http.response, {
      heartbeat,
      principal,
      acceptsStream,
      maxBufferedBytes,
      unsentResponses
    })
    run(http.requestId, reply, () => work(reply))
  }
  const serveSession = (http: HttpContext, work: (session: Session, reply: HttpReply) => Promise<void> | void) =>
    serve(http, (reply) => {
      const session = findSession(sessions, http)
      if (!session) return reply.sendHttpError(405, 'method not allowed without a session', { allow: 'POST' })
      return work(session, reply)
    })
  return {
    post: (http, body) => serve(http, (reply) => dispatcher.post(http, reply, body)),
    ownStateIn: (body) => inputRequiredStore.ownStateIn(body),
    startsNoWork: (body) => dispatcher.startsNoWork(body),
    get: (http) => serveSession(http, (session, reply) => streams.open(http, session, reply)),
    delete: (http) => serveSession(http, (session, reply) => deleteSession(session, http, reply)),
    openSse: (http, companion) => serve(http, (reply) => httpSse.open(http, reply, companion)),
    postToSse: (http, posted) => serve(http, (reply) => httpSse.post(http, reply, posted)),
    get sessionCount() {
      return sessions.size
    },
    get parkedCalls() {
      return inputRequiredStore.size
    },
    removeEndedSessions: (ends) => sessions.removeEnded(ends),
    completeElicitation: (server, params) => state.elicitations.complete(server, params),
    scheduleListChanges: () => listChanges.schedule(),
    countSessionCalls: () => sessions.countCalls() + taskRunner.size,
    approvalTasks: taskRunner,
    endIdleStreams: () => listChanges.end((subscriber) => !subscriber.hasActiveCalls?.()),
    endGroup(name) {
      const isGone = (endpoint: string) => groupOf(endpoint) === name
      for (const session of sessions.filter(({ endpoint }) => isGone(endpoint))) endSession(sessions, session)
      inputRequiredStore.end((_principal, endpoint) => isGone(endpoint))
      listChanges.end(({ endpoint }) => isGone(endpoint))
    },
    endPrincipals(isRevoked) {
      for (const session of sessions.filter(({ principal }) => isRevoked(principal))) expireSession(sessions, session)
      inputRequiredStore.end(isRevoked)
      listChanges.end(({ principal }) => isRevoked(principal))
      heartbeat.revoke(isRevoked)
    },
    close() {
      listChanges.close()
      options.approvals.waits.close()
      inputRequiredStore.end(() => true)
      heartbeat.close()
      sessions.close()
      state.eventStore.close()
    }
  }
}
