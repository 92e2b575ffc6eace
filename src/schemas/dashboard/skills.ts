import { Type, type Static } from '@sinclair/typebox'
import { itemMembers } from './shared.ts'

/** A skill of the dashboard. */
export const SkillView = Type.Object({
  uri: Type.String({ description: 'Address of its `SKILL.md`, used in routes and by callers' }),
  name: Type.String(),
  ...itemMembers,
  files: Type.Optional(Type.Integer({ description: 'Number of files; absent if the server generates them' }))
})
export type SkillView = Static<typeof SkillView>

/** `GET /skills`: skills of all servers, including disabled ones. */
export const SkillsView = Type.Object({ skills: Type.Array(SkillView) })
export type SkillsView = Static<typeof SkillsView>
