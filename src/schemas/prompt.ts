import { Type, type Static } from '@sinclair/typebox'
import { OpenObject, StringEnum, Text, TextMap } from './shared.ts'

const PromptArgument = Type.Object(
  {
    name: Type.String(),
    title: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    required: Type.Optional(Type.Boolean())
  },
  { additionalProperties: true }
)

export const Prompt = Type.Object(
  {
    name: Type.String({ description: '`<server>__<prompt>`' }),
    enabled: Type.Boolean(),
    title: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    arguments: Type.Optional(Type.Array(PromptArgument)),
    _meta: Type.Optional(OpenObject())
  },
  { $id: 'Prompt', additionalProperties: true }
)

export const PromptCall = Type.Object(
  {
    name: Text({ minLength: 1, description: 'Qualified name' }),
    arguments: Type.Optional(TextMap({ maxLength: 1_048_576 }))
  },
  { $id: 'PromptCall', additionalProperties: false }
)
export type PromptCall = Static<typeof PromptCall>

const Message = Type.Object(
  { role: StringEnum(['user', 'assistant']), content: OpenObject('An MCP content block with at least `type`') },
  { additionalProperties: true }
)

/** Result of a prompt (http-contract.md#prompt-record). */
export const PromptResult = Type.Object(
  {
    description: Type.Optional(Type.String()),
    messages: Type.Array(Message),
    meta: Type.Optional(OpenObject())
  },
  { $id: 'PromptResult', additionalProperties: true }
)
