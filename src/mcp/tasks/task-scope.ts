import type { CatalogServer } from '../../catalog/catalog.ts'
import type { Scope } from '../../catalog/scope.ts'
import { servesModern } from '../../upstream/upstream.ts'
import type { HandleOwner, TaskHandles } from './handles.ts'
import type { TaskOfCaller } from './task-log.ts'

/** Returns true unless the server's tool has been taken from the caller; one that is no longer listed has not. */
function includesTool(scope: Scope, server: CatalogServer, name: string): boolean {
  const tool = server.find('tool', name)
  return tool === undefined || scope.includes(tool)
}

/** Returns the server of a tool if the caller may still use both. */
export function serverOfTool(scope: Scope, serverId: string, tool: string): CatalogServer | undefined {
  const server = scope.servers.find(({ stored }) => stored.id === serverId)
  return server && includesTool(scope, server, tool) ? server : undefined
}

/** Returns the server of a task if the caller may still use it and the tool that started the task. */
export function serverOfTask(scope: Scope, serverId: string, tool: string): CatalogServer | undefined {
  const server = serverOfTool(scope, serverId, tool)
  return server && servesModern(server.stored) ? server : undefined
}

/** Returns the task of a handle; undefined unless the handle is valid here and its server in scope. */
export function findTask(
  handles: TaskHandles,
  owner: HandleOwner,
  scope: Scope,
  handle: string
): TaskOfCaller | undefined {
  const task = handles.open(owner, handle)
  const server = task && serverOfTask(scope, task.serverId, task.tool)
  return server && { server, task, handle }
}
