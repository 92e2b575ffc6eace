import { TASK } from '../../domain/mcp-constants.ts'
import type { CatalogServer } from '../../catalog/catalog.ts'
import type { Scope } from '../../catalog/scope.ts'
import type { MemberChanges, Payload } from '../../json/payload.ts'
import { badResponse } from '../../protocol/upstream-failure.ts'
import { nameAppsIn } from '../messages/app-addresses.ts'
import { hasUriKey } from '../messages/resource-links.ts'
import { attributedInputRequests, needsAttribution } from '../messages/server-attribution.ts'

/** Limit of a server's task id in bytes of its JSON text: it becomes part of a header, twice encoded. */
export const MAX_TASK_ID_BYTES = 1_024

const finalStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled'])

/** Status after which a task does not change any more. */
export type FinalStatus = 'completed' | 'failed' | 'cancelled'

/** Returns true for a result that names a task instead of completing the call (`CreateTaskResult`). */
export const isTask = (result: Payload): boolean => result.valueOf('resultType') === `"${TASK}"`

/** Returns the server's id in a result that names a task. Throws UpstreamFailure `bad_response`. */
export function taskIdOf(result: Payload): string {
  const text = result.valueOf('taskId')
  if (text === undefined || text.length > MAX_TASK_ID_BYTES || !text.startsWith('"')) {
    throw badResponse(`the upstream answered with a task without an id of at most ${MAX_TASK_ID_BYTES} bytes`)
  }
  const taskId = JSON.parse(Buffer.from(text, 'latin1').toString()) as string
  if (taskId === '') throw badResponse('the upstream answered with a task with an empty id')
  return taskId
}

/** Returns the status of a task that will not change any more; undefined for any other. */
export function finalStatusOf(task: Payload): FinalStatus | undefined {
  const status = task.valueOf('status')?.slice(1, -1)
  return status !== undefined && finalStatuses.has(status) ? (status as FinalStatus) : undefined
}

/** The result inside a task, if it may hold addresses. */
export interface ResultWithAddresses {
  readonly result: Payload
  readonly hasUris: boolean
}

/**
 * Returns the result of a task if it may hold addresses; others are not read, because they may be large. Keys that are
 * spelled with escapes are looked for as in other results. Throws JsonError if the result is malformed.
 */
export function resultWithAddresses(task: Payload): ResultWithAddresses | undefined {
  const result = task.partOf('result')
  if (!result?.isObject) return undefined
  const hasUris = hasUriKey(result)
  return hasUris || result.mayEscapeLetters || result.has('_meta') ? { result, hasUris } : undefined
}

/** A task as a client sees it. */
export interface TaskView {
  readonly handle: string
  readonly server: CatalogServer
  readonly scope: Scope
}

/**
 * Returns the members of a server's `Task` to replace, as latin1 strings: its id, requests that the user must be able to
 * attribute, a result with addresses of interfaces, and `_meta`, which the gateway writes itself. Throws JsonError or
 * UpstreamFailure if they are malformed.
 */
export function taskChanges(
  task: Payload,
  { handle, server, scope }: TaskView,
  found = resultWithAddresses(task)
): MemberChanges {
  const changes: Record<string, string | null> = { taskId: `"${handle}"`, _meta: null }
  const inputRequests = needsAttribution(scope) ? attributedInputRequests(task, server.name) : undefined
  if (inputRequests !== undefined) changes.inputRequests = inputRequests
  const named = found && nameAppsIn(found.result, server, scope.isBare, found.hasUris)
  if (named && named !== found.result) changes.result = named.latin1
  return changes
}
