import { upstreamUrlProblem } from '../../domain/network/upstream-url.ts'
import { ClientInput, UserInput } from '../../schemas/principal.ts'
import { ServerInput } from '../../schemas/server.ts'
import { ToolGroupInput } from '../../schemas/tool-group.ts'
import { createBodyCheck } from '../../validation/validators.ts'
import { usage } from '../io/failure.ts'
import type { InputObject } from '../io/input.ts'

/** Kinds of resources that files declare. */
export const FILE_KINDS = ['server', 'group', 'client', 'user'] as const
export type FileKind = (typeof FILE_KINDS)[number]

const checks: Readonly<Record<FileKind, ReturnType<typeof createBodyCheck>>> = {
  server: createBodyCheck(ServerInput),
  group: createBodyCheck(ToolGroupInput),
  client: createBodyCheck(ClientInput),
  user: createBodyCheck(UserInput)
}

/** Returns the kind of an object by members that only one kind has. */
export function kindOf({ value, from }: InputObject, hint: string): FileKind {
  if ('transport' in value || 'url' in value || 'command' in value) return 'server'
  if ('included_tools' in value || 'included_servers' in value || 'excluded_tools' in value) return 'group'
  if ('allowed_servers' in value) return 'client'
  if ('role' in value) return 'user'
  throw usage(`${from} could be of several types`, hint)
}

function serverProblem({ transport, url, command }: Readonly<Record<string, unknown>>): string | undefined {
  if (transport === 'stdio') return command ? undefined : '"command" is required for transport stdio'
  if (!url) return `"url" is required for transport ${String(transport)}`
  const problem = upstreamUrlProblem(url as string)
  return problem && `"url" ${problem}`
}

/** Throws for a body that the gateway would refuse. */
export function checkBody(kind: FileKind, { value, from }: InputObject): void {
  // whether a user is suspended is changed by a route of its own
  const { suspended: _suspended, ...user } = value
  const problem = checks[kind](kind === 'user' ? user : value) ?? (kind === 'server' ? serverProblem(value) : undefined)
  if (problem !== undefined) throw usage(`${from}: ${problem}`)
}
