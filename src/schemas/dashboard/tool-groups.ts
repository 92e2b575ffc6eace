import { Type, type Static } from '@sinclair/typebox'
import type { ToolOverrides } from '../../domain/overrides/tool-overrides.ts'
import { StringEnum } from '../shared.ts'
import { SeenClient } from './shared.ts'
import { ToolGroupDetails } from '../tool-group.ts'

/** A tool that the group serves, with the reason. */
export const GroupTool = Type.Object({
  name: Type.String({ description: '`<server>__<tool>`' }),
  server: Type.String(),
  reason: StringEnum(['server', 'picked'], { description: 'server: the whole server is included' }),
  shown_as: Type.Optional(Type.String({ description: 'Name at the endpoint, if the group gives it one' })),
  tokens: Type.Integer(),
  tokens_before: Type.Integer({ description: 'Estimated tokens without the override' })
})
export type GroupTool = Static<typeof GroupTool>

/** A tool that the lists name, or that belongs to an included server, but that the group does not serve. */
export const LeftOutTool = Type.Object({
  name: Type.String(),
  reason: StringEnum(['excluded', 'disabled', 'server_disabled', 'unusable', 'missing', 'withheld'])
})
export type LeftOutTool = Static<typeof LeftOutTool>

const effective = {
  tool_count: Type.Integer(),
  tokens: Type.Integer({ description: 'Estimated tokens of the tool definitions' }),
  tokens_before: Type.Integer({ description: 'The same without the overrides' }),
  list_tokens: Type.Integer({ description: 'Estimated tokens of the tools that the endpoint lists' }),
  tools: Type.Array(GroupTool, { description: 'In the endpoint’s list order' }),
  left_out: Type.Array(LeftOutTool)
}

/** A tool group with its endpoints and effective tools. */
export const ToolGroupView = Type.Object({
  ...Type.Omit(ToolGroupDetails, ['tools']).properties,
  ...effective,
  overrides: Type.Optional(
    Type.Unsafe<ToolOverrides>({
      type: 'object',
      additionalProperties: true,
      description: 'Overrides by `<server>__<tool>`, with `***` for secrets'
    })
  ),
  seen: Type.Optional(Type.String({ description: 'Time of the last request to one of its endpoints, ISO 8601' })),
  clients: Type.Array(SeenClient, { description: 'Clients of its endpoints that declared a name, most recent first' })
})
export type ToolGroupView = Static<typeof ToolGroupView>

/** `GET /tool-groups`, sorted by name. */
export const ToolGroupsView = Type.Object({ tool_groups: Type.Array(ToolGroupView) })
export type ToolGroupsView = Static<typeof ToolGroupsView>

/**
 * Response of `POST /tool-groups/preview`: the effective tools of such a group. Nothing is stored; unknown names are in
 * `missing`.
 */
export const ToolGroupPreview = Type.Object({
  ...effective,
  problem: Type.Optional(Type.String({ description: 'Why the overrides cannot be saved' })),
  missing: Type.Array(Type.String()),
  search_tokens: Type.Integer({ description: 'Estimated tokens of the list in search mode' }),
  total_tool_count: Type.Integer({ description: 'Count of the global endpoint' }),
  total_tokens: Type.Integer({ description: 'Count of the global endpoint' })
})
export type ToolGroupPreview = Static<typeof ToolGroupPreview>
