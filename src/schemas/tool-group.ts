import { Type, type Static } from '@sinclair/typebox'
import { ref, StringEnum, Text, TextList } from './shared.ts'

const nameList = (description: string, maxItems = 10_000) => Type.Optional(TextList({ maxItems, description }))

const configuration = {
  description: Type.Optional(Text({ maxLength: 65_536 })),
  included_tools: nameList('Tools to include, as `<server>__<tool>`'),
  included_servers: nameList('Servers to include with all their tools, prompts and resources', 1_000),
  excluded_tools: nameList('Tools to exclude, as `<server>__<tool>`; overrides both kinds of inclusion'),
  tool_names: Type.Optional(
    StringEnum(['qualified', 'bare'], {
      default: 'qualified',
      description:
        'bare: the group serves one included server under its own names, without a prefix; nothing else may be included'
    })
  )
}

/** Input of a tool group (http-contract.md#tool-groups). */
export const ToolGroupInput = Type.Object(
  {
    name: Type.String({ format: 'name', description: '`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`' }),
    ...configuration
  },
  { $id: 'ToolGroupInput', additionalProperties: false }
)
export type ToolGroupInput = Static<typeof ToolGroupInput>

export const ToolGroupReplacement = Type.Object(
  { name: Type.Optional(Text({ description: 'If given, must equal the name in the path' })), ...configuration },
  {
    $id: 'ToolGroupReplacement',
    additionalProperties: false,
    description: 'The whole configuration; absent lists become empty.'
  }
)
export type ToolGroupReplacement = Static<typeof ToolGroupReplacement>

const List = () => Type.Unsafe<readonly string[]>(Type.Array(Type.String()))

const record = {
  name: Type.String(),
  description: Type.Optional(Type.String()),
  included_tools: List(),
  included_servers: List(),
  excluded_tools: List(),
  tool_names: Type.Optional(StringEnum(['bare'], { description: 'Present if tools are served under their own names' })),
  missing: Type.Unsafe<readonly string[]>(
    Type.Array(Type.String(), { description: 'Tools and servers in the lists that do not exist' })
  )
}

export const ToolGroup = Type.Object(record, { $id: 'ToolGroup' })

export const ToolGroupDetails = Type.Object(
  {
    ...record,
    streamable_http_endpoint: Type.String(),
    sse_endpoint: Type.String(),
    sse_message_endpoint: Type.String()
  },
  { $id: 'ToolGroupDetails' }
)

/** Response of a replacement. */
export const ReplacedToolGroup = Type.Object(
  {
    ...ToolGroupDetails.properties,
    old: { ...ref(ToolGroup), description: 'The group before the change' },
    new: { ...ref(ToolGroup), description: 'The group after the change, as MCPJungle returns it' }
  },
  { $id: 'ReplacedToolGroup' }
)

export const EffectiveTools = Type.Object(
  { tools: List() },
  {
    $id: 'EffectiveTools',
    description: 'Qualified names of the tools that the group currently serves, in list order'
  }
)
