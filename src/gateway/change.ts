import type { Change } from '../registry/model.ts'
import type { Caller } from './gateway.ts'

/** What a caller is about to change, for the audit log. */
export const changeBy = ({ kind, name }: Caller, action: string, target: string): Change => ({
  actor: { kind, name },
  action,
  target
})
