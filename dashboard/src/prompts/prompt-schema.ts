import type { PromptView } from '../../../src/schemas/dashboard/prompts.ts'

/** Arguments of a prompt are texts with names (MCP): as a JSON Schema, so that they are drawn like those of a tool. */
export const promptSchema = ({ arguments: list }: Pick<PromptView, 'arguments'>) => ({
  type: 'object',
  properties: Object.fromEntries(
    list.map(({ name, title, description }) => [
      name,
      { type: 'string', ...(title && { title }), ...(description && { description }) }
    ])
  ),
  required: list.filter(({ required }) => required).map(({ name }) => name),
  additionalProperties: false
})
