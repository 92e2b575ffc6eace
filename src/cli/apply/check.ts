import { loadConditions } from '../../domain/policy/condition.ts'
import { toRule, type RuleInput } from '../../domain/policy/input.ts'
import { problemsOf } from '../../domain/policy/problems.ts'
import { upstreamUrlProblem } from '../../domain/network/upstream-url.ts'
import { ClientInput, UserInput } from '../../schemas/principal.ts'
import { PolicyInput } from '../../schemas/policy.ts'
import { ServerInput } from '../../schemas/server.ts'
import { TeamInput } from '../../schemas/team.ts'
import { ToolGroupInput } from '../../schemas/tool-group.ts'
import { createBodyCheck } from '../../validation/validators.ts'
import { usage } from '../io/failure.ts'
import type { InputObject } from '../io/input.ts'
import type { FileKind } from '../io/kinds.ts'

const checks: Readonly<Record<FileKind, ReturnType<typeof createBodyCheck>>> = {
  server: createBodyCheck(ServerInput),
  group: createBodyCheck(ToolGroupInput),
  client: createBodyCheck(ClientInput),
  user: createBodyCheck(UserInput),
  team: createBodyCheck(TeamInput),
  policy: createBodyCheck(PolicyInput)
}

/** Returns the kind of an object by members that only one kind has. */
export function kindOf({ value, from }: InputObject, hint: string): FileKind {
  if ('transport' in value || 'url' in value || 'command' in value) return 'server'
  if ('included_tools' in value || 'included_servers' in value || 'excluded_tools' in value) return 'group'
  if ('allowed_servers' in value) return 'client'
  if ('role' in value) return 'user'
  if ('effect' in value) return 'policy'
  if ('members' in value || 'groups' in value) return 'team'
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

let loading: ReturnType<typeof loadConditions> | undefined
const load = () => (loading ??= loadConditions())

/** Rejects with a usage Failure that names every reason why the gateway would refuse a policy. */
export async function checkPolicy(input: InputObject): Promise<void> {
  checkBody('policy', input)
  const { name, ...members } = input.value as unknown as RuleInput & { readonly name: string }
  const problems = await problemsOf(toRule(name, members), load)
  if (problems.length > 0) throw usage(`${input.from}: ${problems.join('; ')}`)
}
