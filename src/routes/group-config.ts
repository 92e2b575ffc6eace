import { invalid } from '../errors.ts'
import { groupAddresses } from '../gateway/endpoint.ts'
import type { GroupRecord } from '../gateway/gateway.ts'
import type { GroupConfig } from '../registry/model.ts'
import type { ToolGroupReplacement } from '../schemas/tool-group.ts'

const once = (names: readonly string[] = []): string[] => [...new Set(names)]

/** The configuration that an input asks for: lists that are absent are empty, names count once. */
export const toGroupConfig = (name: string, input: ToolGroupReplacement): GroupConfig => ({
  name,
  description: input.description || null,
  included_tools: once(input.included_tools),
  included_servers: once(input.included_servers),
  excluded_tools: once(input.excluded_tools),
  tool_names: input.tool_names ?? 'qualified'
})

/** The same for the group in the path. Throws AppError 400. */
export function toReplacement(name: string, input: ToolGroupReplacement): GroupConfig {
  if ((input.name ?? name) !== name) throw invalid('"name" must be the name in the path: a group keeps its name')
  return toGroupConfig(name, input)
}

/** A record with the addresses of its endpoints, for callers who reach the gateway at `base`. */
export const withAddresses = (record: GroupRecord, base: string) => ({
  ...record,
  ...groupAddresses(base, record.name)
})
