import type { FastifyRequest } from 'fastify'
import { hasInexactNumber } from '../json/numbers.ts'
import { invalid } from '../lib/errors.ts'
import { bodyTextOf } from '../plugins/json-body.ts'
import { DEFAULT_SEARCH_LIMIT } from '../domain/search/limits.ts'
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
  tool_names: input.tool_names ?? 'qualified',
  tools: input.tools ?? {},
  instructions: input.instructions || null,
  max_tokens: input.max_tokens ?? null,
  tool_list: input.tool_list ?? 'full',
  always_listed: unique(input.always_listed),
  search_limit: input.search_limit ?? DEFAULT_SEARCH_LIMIT,
  max_result_tokens: input.max_result_tokens ?? null
})

/** Throws AppError 400 for numbers in a body that would not be stored as they were sent: a lock must be exact. */
export function requireExactNumbers(request: FastifyRequest): void {
  if (hasInexactNumber(bodyTextOf(request))) throw invalid('a number of the body is too large, or has too many digits')
}

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
