import { upstreamUrlProblem } from '../domain/upstream-url.ts'
import { ClientInput, UserInput } from '../schemas/principal.ts'
import { ServerInput } from '../schemas/server.ts'
import { ToolGroupInput } from '../schemas/tool-group.ts'
import { createBodyCheck } from '../validation.ts'
import { usage } from './failure.ts'
import type { Given } from './input.ts'

/** The kinds of things that stand in files. */
export const FILED = ['server', 'group', 'client', 'user'] as const
export type Filed = (typeof FILED)[number]

const checks: Readonly<Record<Filed, ReturnType<typeof createBodyCheck>>> = {
  server: createBodyCheck(ServerInput),
  group: createBodyCheck(ToolGroupInput),
  client: createBodyCheck(ClientInput),
  user: createBodyCheck(UserInput)
}

/** What an object looks like, by the members that only one kind has. */
export function kindOf({ value, from }: Given, hint: string): Filed {
  if ('transport' in value || 'url' in value || 'command' in value) return 'server'
  if ('included_tools' in value || 'included_servers' in value || 'excluded_tools' in value) return 'group'
  if ('allowed_servers' in value) return 'client'
  if ('role' in value) return 'user'
  throw usage(`what is in ${from} could be of several types`, hint)
}

function serverProblem({ transport, url, command }: Readonly<Record<string, unknown>>): string | undefined {
  if (transport === 'stdio') return command ? undefined : '"command" is required for transport stdio'
  if (!url) return `"url" is required for transport ${String(transport)}`
  const problem = upstreamUrlProblem(url as string)
  return problem && `"url" ${problem}`
}

/** Refuses what the gateway would refuse of what it is sent. */
export function checkBody(kind: Filed, { value, from }: Given): void {
  const problem = checks[kind](value) ?? (kind === 'server' ? serverProblem(value) : undefined)
  if (problem !== undefined) throw usage(`${from}: ${problem}`)
}
