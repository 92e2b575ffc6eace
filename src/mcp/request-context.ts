import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { SessionEnd } from '../registry/session-ends.ts'
import type { BatchScheduler } from '../lib/batch-scheduler.ts'
import type { McpRefusals } from './mcp-refusals.ts'
import type { Observer } from '../observe/observation.ts'
import type { Scope } from '../catalog/scope.ts'
import type { Subscriptions } from './resource-subscriptions.ts'
import type { ActiveClient } from '../observe/client-activity.ts'
import type { ClientCalls } from '../upstream/client-calls.ts'
import type { ClientRequest, Implementation } from './sessions/client-request.ts'
import type { Cursors } from './messages/cursor.ts'
import type { Elicitations } from './input/elicitations.ts'
import type { PendingCall } from './input/pending-call.ts'
import type { MessageLimits } from '../protocol/jsonrpc.ts'
import type { ClientInfoCache } from './messages/client-info.ts'
import type { ResourceLinks } from './messages/resource-links.ts'
import type { InputRequiredStore } from './input/input-required-store.ts'
import type { EventStore } from './sessions/event-store.ts'
import type { Heartbeat } from './sessions/heartbeat.ts'
import type { ClientSessions } from './sessions/client-sessions.ts'
import type { McpQuotas } from './quotas.ts'
import type { UnsentResponses } from './sessions/unsent-responses.ts'
import type { ListChangeNotifier } from './list-change-notifier.ts'
import type { Caller } from '../catalog/caller.ts'

/** One HTTP request on an MCP endpoint that has passed the Host, Origin and authentication checks. */
export interface HttpContext {
  readonly headers: IncomingHttpHeaders
  readonly response: ServerResponse
  readonly caller: Caller
  /** Path of the endpoint; sessions are bound to it. */
  readonly endpoint: string
  readonly requestId: string
  /** Client address for the audit log, read early because the socket may be gone when a refusal is recorded. */
  readonly address: string | undefined
}

/** The parts of the data plane that the MCP endpoints need. */
export interface DataPlane {
  /** Computes the scope from the current allow list: a stream outlives the list that it was opened with. */
  scope(caller: Caller, endpoint: string): Scope
  /** Records the client's `clientInfo`; returns null when client activity is not recorded. */
  recordClient(endpoint: string, client: unknown): ActiveClient | null
  /** Returns true if the server is on the caller's current allow list. */
  allows(caller: Caller, server: string): boolean
  readonly refusals: McpRefusals
  /** Sends a notification on all upstream sessions of an MCP session. */
  notifyOwner(owner: string, method: string): void
}

/** State shared by all MCP requests of one gateway. */
export interface McpContext {
  readonly dataPlane: DataPlane
  readonly calls: ClientCalls
  readonly sessions: ClientSessions
  /** Stores the end of a session and announces it to the other replicas. Rejects with AppError. */
  storeSessionEnd(end: SessionEnd): Promise<void>
  readonly cursors: Cursors
  readonly heartbeat: Heartbeat
  readonly inputRequiredStore: InputRequiredStore<PendingCall>
  readonly resourceLinks: ResourceLinks
  readonly clientInfoCache: ClientInfoCache
  readonly elicitations: Elicitations
  readonly listChanges: ListChangeNotifier
  readonly subscriptions: Subscriptions
  readonly eventStore: EventStore
  readonly observer: Observer
  readonly quotas: McpQuotas
  /** Limit of open listening streams, over all principals. */
  readonly maxStreams: number
  readonly limits: MessageLimits & { readonly identifierBytes: number }
  /** Limit of messages in one batch. */
  readonly maxBatch: number
  /** Limit of bytes buffered for the responses of one batch. */
  readonly maxBatchBytes: number
  readonly maxBufferedBytes: number
  /** Responses not yet read by their clients. */
  readonly unsentResponses: UnsentResponses
  readonly schedule: BatchScheduler
  readonly identity: Implementation
  /** `identity` as JSON text. */
  readonly serverInfo: string
}

/** One request of a client, with everything needed to answer it. */
export interface RequestContext extends ClientRequest {
  readonly mcp: McpContext
}
