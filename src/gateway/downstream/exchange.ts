import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { ServerBlock } from '../catalog.ts'
import type { Caller } from '../gateway.ts'
import type { SessionEnd } from '../../registry/session-ends.ts'
import type { BatchScheduler } from '../later.ts'
import type { McpRefusals } from '../mcp-refusals.ts'
import type { Observation, Observer } from '../observation.ts'
import type { Scope } from '../scope.ts'
import type { Subscriptions } from '../subscriptions.ts'
import type { Visitor } from '../visitors.ts'
import type { Answer, Call } from '../upstream/call.ts'
import type { Era } from '../upstream/connection.ts'
import type { SessionCallbacks } from '../upstream/home.ts'
import type { Cursors } from './cursor.ts'
import type { Elicitations } from './elicitations.ts'
import type { Flow } from './flow.ts'
import type { Message, MessageLimits } from './jsonrpc.ts'
import type { Introductions } from './introductions.ts'
import type { Links } from './links.ts'
import type { Parks } from './park.ts'
import type { Replays } from './replay.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Responder } from './responder.ts'
import type { Session, Sessions } from './session.ts'
import type { EdgeShares } from './shares.ts'
import type { Unsent } from './unsent.ts'
import type { Watch } from './watch.ts'

/** One HTTP request on an MCP endpoint, after Host, Origin and authentication. */
export interface HttpExchange {
  readonly headers: IncomingHttpHeaders
  readonly response: ServerResponse
  readonly caller: Caller
  /** Path of the endpoint; sessions are bound to it. */
  readonly endpoint: string
  readonly requestId: string
  /** Where it came from, for the audit log: by the time that something is refused its connection may be gone. */
  readonly address: string | undefined
}

/** Who an upstream session belongs to, and in which era its caller speaks (architecture, idea 6). */
export interface Origin {
  readonly era: Era
  /** MCP session, or principal where there is none. */
  readonly owner: string
  /** Whose share of the calls under way it takes; null: it belongs to one that has been counted. */
  readonly principal: string | null
  /** Whose share of processes and upstream sessions it takes, where `principal` is null. */
  readonly holder?: string
  /** The client of that MCP session. */
  readonly home?: SessionCallbacks | undefined
}

/** What the MCP edge needs of the data plane. */
export interface Core {
  /** As of now: streams hold a caller for longer than its allow list is good. */
  scope(caller: Caller, endpoint: string): Scope
  /** A client has said who it is; null where nobody keeps that. */
  met(endpoint: string, client: unknown): Visitor | null
  /** Whether the server is on the caller's allow list as of now. */
  allows(caller: Caller, server: string): boolean
  /** Sends a call upstream within its limits. Rejects with UpstreamFailure. */
  forward(server: ServerBlock, call: Call, origin: Origin): Promise<Forwarded>
  readonly refusals: McpRefusals
  /** Tells something to the upstream sessions of an MCP session. */
  notifyOwner(owner: string, method: string): void
}

export interface Forwarded {
  readonly answer: Answer
  /** Era of the wire that it came over. */
  readonly era: Era
}

/** Shared by all exchanges of one gateway. */
export interface Edge {
  readonly core: Core
  readonly sessions: Sessions
  /** Stores the end of a session and tells the other replicas. Rejects with AppError. */
  storeEnd(end: SessionEnd): Promise<void>
  readonly cursors: Cursors
  readonly heartbeat: Heartbeat
  readonly parks: Parks<Flow>
  readonly links: Links
  readonly introductions: Introductions
  readonly elicitations: Elicitations
  readonly watch: Watch
  readonly subscriptions: Subscriptions
  readonly replays: Replays
  readonly observer: Observer
  readonly shares: EdgeShares
  /** Connections that only listen, of all principals. */
  readonly maxStreams: number
  readonly limits: MessageLimits & { readonly identifierBytes: number }
  /** Most messages that one batch may hold. */
  readonly maxBatch: number
  /** Of its answers, which wait for each other. */
  readonly maxBatchBytes: number
  readonly maxBufferedBytes: number
  /** Answers that clients have not read yet. */
  readonly unsent: Unsent
  readonly schedule: BatchScheduler
  readonly identity: Identity
  /** The same as JSON text. */
  readonly serverInfo: string
}

/** How Towpath names itself. */
export interface Identity {
  readonly name: string
  readonly title: string
  readonly version: string
}

/** One request of a client with everything that answering it needs. */
export interface Exchange {
  readonly edge: Edge
  readonly era: Era
  readonly message: Message
  /** Headers of the HTTP request. */
  readonly headers: IncomingHttpHeaders
  readonly reply: Responder
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
