import { Type, type Static } from '@sinclair/typebox'
import { itemMembers } from './shared.ts'

const PromptArgument = Type.Object({
  name: Type.String(),
  title: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  required: Type.Optional(Type.Boolean())
})

/** A prompt of the dashboard. */
export const PromptView = Type.Object({
  name: Type.String({ description: 'The upstream’s own name' }),
  canonical_name: Type.String({ description: '`<server>__<prompt>`, used in routes and by callers' }),
  ...itemMembers,
  arguments: Type.Array(PromptArgument)
})
export type PromptView = Static<typeof PromptView>

/** `GET /prompts`: prompts of all servers, including disabled ones. */
export const PromptsView = Type.Object({ prompts: Type.Array(PromptView) })
export type PromptsView = Static<typeof PromptsView>
