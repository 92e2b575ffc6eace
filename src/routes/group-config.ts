import { invalid } from '../lib/errors.ts'
import { groupAddresses } from '../catalog/endpoint.ts'
import type { GroupRecord } from '../control/groups.ts'
import type { GroupConfig } from '../registry/model/model.ts'
import type { ToolGroupReplacement } from '../schemas/tool-group.ts'

const unique = (names: readonly string[] = []): string[] => [...new Set(names)]

/** Converts the input to a group configuration: absent lists become empty, duplicate names are removed. */
export const toGroupConfig = (name: string, input: ToolGroupReplacement): GroupConfig => ({
  name,
  description: input.description || null,
  included_tools: unique(input.included_tools),
  included_servers: unique(input.included_servers),
  excluded_tools: unique(input.excluded_tools),
  tool_names: input.tool_names ?? 'qualified'
})

/** Converts the input for the group named in the path. Throws AppError 400 if the body names another group. */
export function toReplacement(name: string, input: ToolGroupReplacement): GroupConfig {
  if ((input.name ?? name) !== name) throw invalid('"name" must be the name in the path: a group cannot be renamed')
  return toGroupConfig(name, input)
}

/** Adds the URLs of the group's endpoints, relative to `base`. */
export const withEndpointUrls = (record: GroupRecord, base: string) => ({
  ...record,
  ...groupAddresses(base, record.name)
})
