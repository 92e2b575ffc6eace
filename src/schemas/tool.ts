import { Type, type Static } from '@sinclair/typebox'
import { OpenObject, StringEnum, Text } from './shared.ts'

/** A tool (http-contract.md#tool-record). The upstream's definition is kept whole, so unlisted members may appear. */
export const Tool = Type.Object(
  {
    name: Type.String({ description: '`<server>__<tool>`' }),
    enabled: Type.Boolean({ description: 'Whether it can be called: its own switch and that of its server' }),
    title: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    input_schema: Type.Optional(OpenObject('JSON Schema, exactly as the upstream gave it')),
    output_schema: Type.Optional(OpenObject('JSON Schema, exactly as the upstream gave it')),
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
      "The tool's arguments are the other members. If the only other member is an object called `arguments`, and the tool has no parameter of that name, that object holds the arguments: so a tool with a parameter called `name` can be called. With `?arguments=object` they are in `arguments`, whatever the tool's parameters are called."
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
        "Place of the tool's arguments in the body: `beside` the name, or in the `object` called `arguments`, beside which there is only the name then"
    })
  )
})

/** Result of a tool call (http-contract.md#tool-invocation). */
export const ToolResult = Type.Object(
  {
    content: Type.Array(OpenObject('Has at least `type`')),
    isError: Type.Optional(Type.Boolean({ description: 'true when the tool itself reported an error' })),
    structuredContent: Type.Optional(Type.Unknown()),
    _meta: Type.Optional(OpenObject())
  },
  { $id: 'ToolResult', additionalProperties: true }
)
