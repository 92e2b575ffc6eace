import type { Caller } from '../catalog/caller.ts'
import type { CallQuery } from '../registry/logs/calls.ts'

/** Returns the part of a filter that limits users to their own calls; empty for others. */
export const ownCalls = ({ kind, name }: Caller): Pick<CallQuery, 'caller' | 'caller_kind'> =>
  kind === 'user' ? { caller: name, caller_kind: kind } : {}
