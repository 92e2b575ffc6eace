import { Type, type Static, type TSchema } from '@sinclair/typebox'
import type { ToolOverrides } from '../domain/overrides/tool-overrides.ts'
import { DEFAULT_SEARCH_LIMIT, MAX_SEARCH_LIMIT } from '../domain/search/limits.ts'
import { OpenObject, ref, StringEnum, Text, TextList } from './shared.ts'

const nameList = (description: string, maxItems = 10_000) => Type.Optional(TextList({ maxItems, description }))

/** A map whose keys are texts that PostgreSQL can store. */
const mapOf = <T extends TSchema>(schema: T, options: { maxProperties: number; description: string }) =>
  Type.Unsafe<Readonly<Record<string, Static<T>>>>({
    type: 'object',
    propertyNames: { type: 'string', format: 'text', maxLength: 1_024 },
    additionalProperties: schema,
    ...options
  })

const ArgumentOverride = Type.Object(
  {
    lock: Type.Optional(
      Type.Unknown({
        description:
          'JSON value that every call gets; the property is not shown, and a call that sends it is refused. `{"secret": "…"}` is stored encrypted and shown as `***`, which keeps the stored one'
      })
    ),
    default: Type.Optional(Type.Unknown({ description: 'JSON value that calls without the argument get' })),
    description: Type.Optional(Text({ maxLength: 16_384 })),
    enum: Type.Optional(
      Type.Unsafe<readonly unknown[]>(
        Type.Array(Type.Unknown(), {
          minItems: 1,
          maxItems: 1_000,
          description: 'Strings, numbers, booleans or null that callers may send'
        })
      )
    )
  },
  { additionalProperties: false }
)

const hint = () => Type.Optional(Type.Boolean())

const ToolOverride = Type.Object(
  {
    name: Type.Optional(Text({ description: '`^[A-Za-z0-9_.-]{1,64}$`; the usual name is unknown at the endpoint' })),
    title: Type.Optional(Text()),
    description: Type.Optional(Text({ maxLength: 65_536 })),
    annotations: Type.Optional(
      Type.Object(
        {
          title: Type.Optional(Text()),
          readOnlyHint: hint(),
          destructiveHint: hint(),
          idempotentHint: hint(),
          openWorldHint: hint()
        },
        { additionalProperties: false, description: 'Merged into the annotations of the tool' }
      )
    ),
    arguments: Type.Optional(
      mapOf(ArgumentOverride, { maxProperties: 1_000, description: 'By the name of a top-level property' })
    )
  },
  { additionalProperties: false }
)

const overrides = () =>
  mapOf(ToolOverride, { maxProperties: 10_000, description: 'What the group shows of a tool, by `<server>__<tool>`' })

const views = {
  tools: Type.Optional(overrides()),
  instructions: Type.Optional(
    Text({ maxLength: 8_192, description: 'Text for the model, before the instructions of the servers' })
  ),
  max_tokens: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100_000_000,
      description: 'Limit of the estimated tokens of the tools; beyond it the group is not saved'
    })
  )
}

const search = {
  tool_list: Type.Optional(
    StringEnum(['full', 'search'], {
      default: 'full',
      description: 'search: the endpoint lists tools that find and call the others'
    })
  ),
  always_listed: nameList('Tools that are listed in search mode all the same, as `<server>__<tool>`', 1_000),
  search_limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_SEARCH_LIMIT,
      default: DEFAULT_SEARCH_LIMIT,
      description: 'Hits of a query that names no limit'
    })
  ),
  max_result_tokens: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: 10_000_000,
      description: 'Estimated tokens beyond which a text of a result is cut, with a link to all of it'
    })
  )
}

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
  ),
  ...views,
  ...search
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
  ...views,
  tools: Type.Optional(
    Type.Unsafe<ToolOverrides>({
      type: 'object',
      additionalProperties: true,
      description: 'Overrides, with `***` for secrets'
    })
  ),
  stale: Type.Optional(
    Type.Unsafe<readonly string[]>(
      Type.Array(Type.String(), {
        description: 'Tools whose definitions have changed since the group was saved; present if there are overrides'
      })
    )
  ),
  broken: Type.Optional(
    Type.Unsafe<readonly { readonly tool: string; readonly reason: string }[]>(
      Type.Array(Type.Object({ tool: Type.String(), reason: Type.String() }), {
        description:
          'Tools that are withheld because their overrides cannot be applied any more; present if there are overrides'
      })
    )
  ),
  tool_list: Type.Optional(StringEnum(['search'], { description: 'Present if the endpoint is in search mode' })),
  always_listed: Type.Optional(List()),
  search_limit: Type.Optional(Type.Integer({ description: 'Present unless it is the default' })),
  max_result_tokens: Type.Optional(Type.Integer()),
  missing: Type.Unsafe<readonly string[]>(
    Type.Array(Type.String(), { description: 'Tools and servers in the lists and overrides that do not exist' })
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
  {
    tools: List(),
    tokens: Type.Optional(Type.Integer({ description: 'Estimated tokens of the definitions' })),
    tokens_before: Type.Optional(Type.Integer({ description: 'The same without the overrides' })),
    stale: record.stale,
    broken: record.broken,
    changes_secrets: Type.Optional(
      Type.Boolean({ description: 'In a preview: the secrets in its locks differ from those of the stored group' })
    ),
    definitions: Type.Optional(
      Type.Array(
        Type.Object({
          tool: Type.String({ description: '`<server>__<tool>`' }),
          server: Type.String(),
          tokens: Type.Integer(),
          tokens_before: Type.Integer(),
          definition: OpenObject('The tool, byte for byte as the endpoint lists it')
        }),
        { description: 'In the order of the list' }
      )
    )
  },
  {
    $id: 'EffectiveTools',
    description: 'Tools that the endpoint lists now; the members beside `tools` only with `detail=definitions`'
  }
)
