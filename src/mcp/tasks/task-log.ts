import { LRUCache } from 'lru-cache'
import type { CatalogServer } from '../../catalog/catalog.ts'
import { MODERN_VERSION } from '../../domain/mcp-constants.ts'
import { JsonError } from '../../json/json.ts'
import type { Payload } from '../../json/payload.ts'
import type { CallObservation, InboundCall, Observer, Outcome } from '../../observe/observation.ts'
import { isErrorResult } from '../../protocol/is-error.ts'
import { handleKey, type Task } from './handles.ts'
import { finalStatusOf, type FinalStatus } from './task-results.ts'

/** Tasks whose end was reported already; beyond this number the oldest would be reported again. */
const MAX_ENDED = 10_000

/** A task as its caller knows it. */
export interface TaskOfCaller {
  readonly server: CatalogServer
  readonly task: Task
  readonly handle: string
}

/** Reports the end of tasks to the call log and the metrics (mcp-proxy.md#tasks). */
export interface TaskLog {
  /**
   * Reports the task unless it is still running or its end was reported before. `state`: the server's `Task` object;
   * `describe`: describes the request that shows it.
   */
  record(known: TaskOfCaller, state: Payload, describe: () => InboundCall): void
}

export interface TaskLogOptions {
  readonly observer: Pick<Observer, 'onCall'>
  /** Returns a function that removes the server's secrets from a text. */
  readonly redactorOf: (server: CatalogServer) => (text: string) => string
}

/** Returns the message of the error with which a task failed. */
function errorOf(error: Payload | undefined): string {
  const { message } = error ? (JSON.parse(error.toString()) as { message?: unknown }) : {}
  return typeof message === 'string' ? message : 'the task failed'
}

function outcomeOf(status: FinalStatus, result: Payload | undefined): Outcome {
  if (status !== 'completed') return status
  return result && isErrorResult(result) ? 'tool_error' : 'ok'
}

export function createTaskLog({ observer, redactorOf }: TaskLogOptions): TaskLog {
  const ended = new LRUCache<string, true>({ max: MAX_ENDED })
  const toObservation = (
    owner: InboundCall,
    { server, task }: TaskOfCaller,
    status: FinalStatus,
    state: Payload
  ): CallObservation => {
    const now = Date.now()
    const totalMs = Math.max(0, now - task.createdAt)
    const result = status === 'completed' ? state.partOf('result') : undefined
    return {
      client: undefined,
      clientVersion: undefined,
      ...owner,
      kind: 'tool',
      server: server.name,
      item: task.tool,
      outcome: outcomeOf(status, result),
      error: status === 'failed' ? errorOf(state.partOf('error')) : undefined,
      startedAt: now,
      totalMs,
      upstreamMs: totalMs,
      mode: server.stored.session_mode,
      serverVersion: MODERN_VERSION,
      waits: undefined,
      endedIn: undefined,
      stderr: '',
      params: '',
      result: result ?? null,
      redact: redactorOf(server)
    }
  }
  return {
    record(known, state, describe) {
      try {
        const status = finalStatusOf(state)
        const key = handleKey(known.handle)
        if (!status || ended.has(key)) return
        ended.set(key, true)
        observer.onCall(toObservation(describe(), known, status, state))
      } catch (error) {
        // the caller gets the malformed state; there is nothing to report about it
        if (!(error instanceof JsonError || error instanceof SyntaxError)) throw error
      }
    }
  }
}
