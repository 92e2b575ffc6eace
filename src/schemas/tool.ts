import { Type, type Static } from '@sinclair/typebox'
import { OpenObject, StringEnum, Text } from './shared.ts'

/** A tool (http-contract.md#tool-record). The upstream's definition is kept whole, so unlisted members may appear. */
export const Tool = Type.Object(
  {
    name: Type.String({ description: '`<server>__<tool>`' }),
    enabled: Type.Boolean({ description: 'True if the tool and its server are both enabled' }),
    title: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    input_schema: Type.Optional(OpenObject('JSON Schema exactly as received from the upstream')),
    output_schema: Type.Optional(OpenObject('JSON Schema exactly as received from the upstream')),
    annotations: Type.Optional(OpenObject()),
    icons: Type.Optional(Type.Array(OpenObject())),
    _meta: Type.Optional(OpenObject())
  },
  { $id: 'Tool', additionalProperties: true }
)

/** The tool's arguments stand beside `name` and are forwarded unchanged (http-contract.md#tool-invocation). */
export const ToolCall = Type.Object(
  { name: Text({ minLength: 1, description: 'Qualified name' }) },
  {
    $id: 'ToolCall',
    additionalProperties: true,
    description:
      "The other members are the tool's arguments. If the only other member is an object named `arguments`, and the tool has no parameter of that name, that object contains the arguments; use it for tools with a parameter named `name`. With `?arguments=object` the arguments are always in `arguments`."
  }
)
export type ToolCall = Static<typeof ToolCall>

/**
 * Selects the place of the arguments, for tools with parameters named `name` and `arguments`, and for callers that do
 * not want to inspect the tool's schema.
 */
export const ToolCallQuery = Type.Object({
  arguments: Type.Optional(
    StringEnum(['beside', 'object'] as const, {
      default: 'beside',
      description:
        "Place of the tool's arguments in the body. `beside`: members next to `name`; `object`: in the object `arguments`, which is then the only member next to `name`"
    })
  )
})

/** Result of a tool call (http-contract.md#tool-invocation). */
export const ToolResult = Type.Object(
  {
    content: Type.Array(OpenObject('An MCP content block with at least `type`')),
    isError: Type.Optional(Type.Boolean({ description: 'true if the tool itself reported an error' })),
    structuredContent: Type.Optional(Type.Unknown()),
    _meta: Type.Optional(OpenObject())
  },
  { $id: 'ToolResult', additionalProperties: true }
)
