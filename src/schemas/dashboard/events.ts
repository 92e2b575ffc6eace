import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from '../shared.ts'

/** What can change under a page. */
export const ChangeKind = StringEnum([
  'servers',
  'tools',
  'prompts',
  'resources',
  'tool_groups',
  'calls',
  'in_flight',
  'sign_ins'
])
export type ChangeKind = Static<typeof ChangeKind>

/**
 * `data` of each event of `GET /events` (SSE, type `change`): these kinds are not what they were. Several changes in quick
 * succession are one event. After an (re)connect everything may have changed.
 */
export const ChangeEvent = Type.Object({ kinds: Type.Array(ChangeKind) })
export type ChangeEvent = Static<typeof ChangeEvent>
