import type { Static } from '@sinclair/typebox'
import { StringEnum } from './shared.ts'

/** State of a server by its last contact. */
export const ServerStatus = StringEnum(
  ['connected', 'connecting', 'sign_in_needed', 'failing', 'disabled', 'unknown'],
  { description: 'connected: the last contact succeeded; unknown: not yet contacted by this process' }
)
export type ServerStatus = Static<typeof ServerStatus>
