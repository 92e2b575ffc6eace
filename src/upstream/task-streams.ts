import type { Catalog } from '../catalog/catalog.ts'
import { isObject } from '../domain/is-object.ts'
import { retryForever, type Backoff } from '../lib/backoff.ts'
import { noop } from '../lib/noop.ts'
import type { Quotas } from '../lib/quota.ts'
import type { StoredServer } from '../registry/model/model.ts'
import { listingSink } from './discovery/list-items.ts'
import type { Sink } from './transport/call.ts'
import type { TransportClient } from './transport/connection.ts'
import { RECONNECTION } from './transport/reconnection.ts'
import { configurationOf } from './upstreams.ts'
import { ACKNOWLEDGED, startListenRequest } from './watch/notification-channel.ts'

/** Tasks of one server that a client listens to. */
export interface TaskListener {
  /** Key of the caller that the stream counts for. */
  readonly caller: string
  /** JSON text of the client capabilities to declare, with the tasks extension. */
  readonly capabilities: string
  /** The server's own ids. */
  readonly taskIds: readonly string[]
  /** Receives `params` of `notifications/tasks` as JSON text. */
  notify(params: string): void
}

/** A stream of one server on which it reports changes of tasks. */
export interface TaskStream {
  /** Ids that the server reports; resolves with none if it refuses or does not answer in time. */
  readonly acknowledged: Promise<readonly string[]>
  close(): void
}

/** Streams of servers with notifications of tasks, one for each listening client and server (mcp-proxy.md#tasks). */
export interface TaskStreams {
  /** Opens a stream. One that is lost after the server has acknowledged it is opened again until it is closed. */
  open(server: StoredServer, listener: TaskListener): TaskStream
  /** Closes the streams of servers that were removed, disabled or changed. */
  prune(catalog: Catalog): void
  close(): void
}

export interface TaskStreamsOptions {
  createClient(server: StoredServer): TransportClient
  readonly connectMs: number
  readonly quotas: Pick<Quotas, 'forUnits' | 'limitOf'>
}

/** Limit for all clients together, each of which has a share; further streams are not acknowledged: clients poll. */
const MAX_STREAMS = 1_000

/** Returns the ids in the acknowledgement of a server, among those that it was asked for. */
function readAcknowledged(params: string, requested: readonly string[]): string[] {
  try {
    const { notifications } = JSON.parse(params) as { notifications?: unknown }
    const given = isObject(notifications) ? notifications['taskIds'] : undefined
    const ids = new Set<unknown>(Array.isArray(given) ? given : [])
    return requested.filter((id) => ids.has(id))
  } catch {
    return []
  }
}

interface ListenOptions {
  readonly client: TransportClient
  readonly listener: TaskListener
  readonly connectMs: number
  readonly signal: AbortSignal
}

/** Listens until the stream ends; resolves with false if the server does not acknowledge it. */
async function listen(
  { client, listener, connectMs, signal }: ListenOptions,
  onAcknowledged: (taskIds: readonly string[]) => void
): Promise<boolean> {
  const { capabilities, taskIds, notify } = listener
  const deadline = performance.now() + connectMs
  const connection = await client.open({ era: 'modern', capabilities, deadline })
  let acknowledge: (ids: readonly string[]) => void = noop
  const acknowledged = new Promise<readonly string[]>((resolve) => (acknowledge = resolve))
  const sink: Sink = {
    ...listingSink,
    capabilities,
    notify(method, params) {
      if (method === ACKNOWLEDGED) acknowledge(readAcknowledged(params, taskIds))
      else if (method === 'notifications/tasks') notify(params)
    }
  }
  const request = startListenRequest(connection, sink, { taskIds }, acknowledged)
  const timer = setTimeout(request.stop, connectMs).unref()
  signal.addEventListener('abort', request.stop)
  try {
    if (signal.aborted) request.stop()
    if (!(await request.acknowledged)) return false
    clearTimeout(timer)
    const ids = await acknowledged
    onAcknowledged(ids)
    if (ids.length === 0) return false
    await request.ended
    return true
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', request.stop)
    request.stop()
    connection.close()
  }
}

export function createTaskStreams({ createClient, connectMs, quotas }: TaskStreamsOptions): TaskStreams {
  const quota = quotas.forUnits(quotas.limitOf(MAX_STREAMS))
  const entries = new Map<TaskStream, StoredServer>()
  const none: TaskStream = { acknowledged: Promise.resolve([]), close: noop }

  const open = (server: StoredServer, listener: TaskListener): TaskStream => {
    const closing = new AbortController()
    const { signal } = closing
    const client = createClient(server)
    let settle: (taskIds: readonly string[]) => void = noop
    let wasAcknowledged = false
    const acknowledged = new Promise<readonly string[]>((resolve) => (settle = resolve))
    const onAcknowledged = (taskIds: readonly string[]) => {
      wasAcknowledged ||= taskIds.length > 0
      settle(taskIds)
    }
    const attempt = async (backoff: Backoff): Promise<boolean> => {
      const startedAt = performance.now()
      const isListening = await listen({ client, listener, connectMs, signal }, onAcknowledged).catch(() => false)
      settle([])
      if (isListening) backoff.recordOpen(performance.now() - startedAt)
      return !wasAcknowledged
    }
    const stream: TaskStream = {
      acknowledged,
      close() {
        if (!entries.delete(stream)) return
        quota.release(listener.caller)
        closing.abort()
        client.close()
      }
    }
    entries.set(stream, server)
    void retryForever(attempt, { ...RECONNECTION, signal }).finally(stream.close)
    return stream
  }
  return {
    open(server, listener) {
      if (server.transport !== 'streamable_http' || entries.size >= MAX_STREAMS) return none
      return quota.acquire(listener.caller) ? open(server, listener) : none
    },
    prune({ servers }) {
      const current = new Map(servers.map(({ stored }) => [stored.id, stored]))
      for (const [stream, server] of entries) {
        const now = current.get(server.id)
        if (!now?.enabled || configurationOf(now) !== configurationOf(server)) stream.close()
      }
    },
    close() {
      for (const stream of entries.keys()) stream.close()
    }
  }
}
