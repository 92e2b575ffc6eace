import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from '../shared.ts'

/** Kinds of data that can change while a page is open. */
export const ChangeKind = StringEnum([
  'servers',
  'tools',
  'prompts',
  'resources',
  'tool_groups',
  'calls',
  'in_flight',
  'sign_ins',
  'people',
  'audit',
  'policies',
  'approvals'
])
export type ChangeKind = Static<typeof ChangeKind>

/**
 * `data` of each `change` event of `GET /events` (SSE): the kinds that changed. Changes in quick succession are merged.
 * After a reconnect, everything may have changed.
 */
export const ChangeEvent = Type.Object({ kinds: Type.Array(ChangeKind) })
export type ChangeEvent = Static<typeof ChangeEvent>
