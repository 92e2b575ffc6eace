import { objectOr } from '../../domain/is-object.ts'
import { TASKS_EXTENSION } from '../../domain/mcp-constants.ts'
import { members, valueOf, withMembers } from '../../json/json.ts'
import type { StoredServer } from '../../registry/model/model.ts'
import type { Problem } from './left-out.ts'

/** Returns true if a server declares the tasks extension on the modern wire. */
function hasTasks({ negotiation }: Pick<StoredServer, 'negotiation'>): boolean {
  if (typeof negotiation?.modern !== 'string') return false
  return Object.hasOwn(objectOr(negotiation.capabilities.extensions, {}), TASKS_EXTENSION)
}

/**
 * Returns the problem of a tool that can only be called as an experimental task of 2025-11-25, which the gateway does
 * not relay. A server with the tasks extension decides itself about each call (mcp-proxy.md#tasks).
 */
export function taskProblem(definition: string, server: Pick<StoredServer, 'negotiation'>): Problem | undefined {
  if (!definition.includes('"taskSupport"')) return undefined
  const { execution } = JSON.parse(definition) as { execution?: { taskSupport?: unknown } | null }
  if (execution?.taskSupport !== 'required' || hasTasks(server)) return undefined
  return {
    code: 'tasks',
    reason: 'it can only be called as an experimental task of 2025-11-25, which the gateway does not support'
  }
}

/**
 * Returns a tool's `execution` member without `taskSupport`, which announces the experimental tasks of 2025-11-25
 * (mcp-proxy.md#tasks). Null if nothing remains of the member; undefined if `taskSupport` is absent.
 */
export function withoutTaskSupport(definition: string): string | null | undefined {
  const execution = valueOf(definition, members(definition), 'execution')
  if (!execution?.startsWith('{') || !members(execution).some(({ key }) => key === 'taskSupport')) return undefined
  const rest = withMembers(execution, { taskSupport: null })
  return rest === '{}' ? null : rest
}
