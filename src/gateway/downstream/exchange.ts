import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { ServerBlock } from '../catalog.ts'
import type { SessionEnd } from '../../registry/session-ends.ts'
import type { BatchScheduler } from '../later.ts'
import type { McpRefusals } from '../mcp-refusals.ts'
import type { Observation, Observer } from '../observation.ts'
import type { Scope } from '../scope.ts'
import type { Subscriptions } from '../subscriptions.ts'
import type { Visitor } from '../visitors.ts'
import type { Call, CallOrigin, UpstreamAnswer } from '../upstream/call.ts'
import type { Era } from '../upstream/connection.ts'
import type { Cursors } from './cursor.ts'
import type { Elicitations } from './elicitations.ts'
import type { PendingCall } from './flow.ts'
import type { Message, MessageLimits } from './jsonrpc.ts'
import type { ClientInfoCache } from './introductions.ts'
import type { ResourceLinks } from './links.ts'
import type { InputRequiredStore } from './park.ts'
import type { EventStore } from './replay.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { ResponseWriter } from './responder.ts'
import type { Session, Sessions } from './session.ts'
import type { McpQuotas } from './shares.ts'
import type { UnsentResponses } from './unsent.ts'
import type { ListChangeNotifier } from './watch.ts'
import type { Caller } from '../caller.ts'

/** One HTTP request on an MCP endpoint, after Host, Origin and authentication. */
export interface HttpContext {
  readonly headers: IncomingHttpHeaders
  readonly response: ServerResponse
  readonly caller: Caller
  /** Path of the endpoint; sessions are bound to it. */
  readonly endpoint: string
  readonly requestId: string
  /** Where it came from, for the audit log: by the time that something is refused its connection may be gone. */
  readonly address: string | undefined
}

/** What the MCP edge needs of the data plane. */
export interface DataPlane {
  /** As of now: streams hold a caller for longer than its allow list is good. */
  scope(caller: Caller, endpoint: string): Scope
  /** A client has said who it is; null where nobody keeps that. */
  recordClient(endpoint: string, client: unknown): Visitor | null
  /** Whether the server is on the caller's allow list as of now. */
  allows(caller: Caller, server: string): boolean
  /** Sends a call upstream within its limits. Rejects with UpstreamFailure. */
  forward(server: ServerBlock, call: Call, origin: CallOrigin): Promise<UpstreamAnswer>
  readonly refusals: McpRefusals
  /** Tells something to the upstream sessions of an MCP session. */
  notifyOwner(owner: string, method: string): void
}

/** Shared by all exchanges of one gateway. */
export interface McpContext {
  readonly dataPlane: DataPlane
  readonly sessions: Sessions
  /** Stores the end of a session and tells the other replicas. Rejects with AppError. */
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
  /** Connections that only listen, of all principals. */
  readonly maxStreams: number
  readonly limits: MessageLimits & { readonly identifierBytes: number }
  /** Most messages that one batch may hold. */
  readonly maxBatch: number
  /** Of its answers, which wait for each other. */
  readonly maxBatchBytes: number
  readonly maxBufferedBytes: number
  /** Answers that clients have not read yet. */
  readonly unsentResponses: UnsentResponses
  readonly schedule: BatchScheduler
  readonly identity: Implementation
  /** The same as JSON text. */
  readonly serverInfo: string
}

/** How Towpath names itself. */
export interface Implementation {
  readonly name: string
  readonly title: string
  readonly version: string
}

/** One request of a client with everything that answering it needs. */
export interface RequestContext {
  readonly mcp: McpContext
  readonly era: Era
  readonly message: Message
  /** Headers of the HTTP request. */
  readonly headers: IncomingHttpHeaders
  readonly reply: ResponseWriter
  readonly caller: Caller
  readonly endpoint: string
  readonly requestId: string
  readonly address: string | undefined
  readonly scope: Scope
  /** The legacy session, where there is one. */
  readonly session: Session | undefined
  /** JSON text of the capabilities that the caller declared. */
  readonly capabilities: string
  /** Of the call that it is, or goes on with; null for what no server is asked. */
  observation: Observation | null
}
