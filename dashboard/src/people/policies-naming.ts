import { isLike } from '../../../src/domain/policy/glob.ts'
import type { Policy } from '../../../src/schemas/policy.ts'

/** Returns the policies that name a team, for callers or approvers, also by a prefix. */
export const policiesNaming = (policies: readonly Policy[], team: string): readonly Policy[] =>
  policies.filter(({ subjects, approvers }) =>
    [...(subjects.teams ?? []), ...(approvers?.teams ?? [])].some((glob) => isLike(team, glob))
  )
