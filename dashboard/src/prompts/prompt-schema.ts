import type { PromptView } from '../../../src/schemas/dashboard/prompts.ts'

/**
 * Returns the arguments of a prompt as a JSON Schema, so that the form of tools can draw them. MCP defines them as
 * named strings.
 */
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
