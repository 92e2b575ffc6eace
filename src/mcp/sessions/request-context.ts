import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../../catalog/caller.ts'
import type { Observation } from '../../observe/observation.ts'
import type { Scope } from '../../catalog/scope.ts'
import type { Era } from '../../upstream/transport/connection.ts'
import type { Message } from '../../protocol/jsonrpc.ts'
import type { ResponseWriter } from './response-writer.ts'
import type { Session } from './client-sessions.ts'

/** `serverInfo` of the gateway (`Implementation` in the MCP schema). */
export interface Implementation {
  readonly name: string
  readonly title: string
  readonly version: string
}

/** One request of a client, with everything that is known about it. */
export interface RequestContext {
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
  /** The legacy session, if the request belongs to one. */
  readonly session: Session | undefined
  /** JSON text of the client capabilities that the caller declared, without tasks. */
  readonly capabilities: string
  /** The same with the tasks extension; undefined unless this is a modern request that declares it. */
  readonly taskCapabilities: string | undefined
  /** True for a call through `call_tool` or `read_tool`; `message` is then the direct call. */
  readonly isInner?: boolean
  /** Record of the call that the request starts or resumes; null for methods answered without an upstream. */
  observation: Observation | null
}
