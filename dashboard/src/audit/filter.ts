import type { Static } from '@sinclair/typebox'
import type { AuditFilter } from '../../../src/schemas/audit.ts'

type Filter = Static<typeof AuditFilter>
type Query = Readonly<Record<string, string>>

const HOUR_MS = 3_600_000

/** Times that the page looks back. */
export const ranges = { '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 168 * HOUR_MS, all: undefined } as const
export type AuditRange = keyof typeof ranges

export const auditOutcomes = ['begun', 'ok', 'refused', 'failed'] as const
export type AuditOutcome = (typeof auditOutcomes)[number]

export const auditRangeOf = ({ range = '' }: Query): AuditRange =>
  Object.hasOwn(ranges, range) ? (range as AuditRange) : '7d'

export const auditOutcomeOf = ({ outcome }: Query): AuditOutcome | undefined =>
  auditOutcomes.find((each) => each === outcome)

/** Returns the filter of the REST interface for what the address of the page says; `now` in milliseconds since 1970. */
export function auditFilterOf(query: Query, now: number): Filter {
  const span = ranges[auditRangeOf(query)]
  const outcome = auditOutcomeOf(query)
  const { actor, target } = query
  return {
    ...(actor && { actor }),
    ...(target && { target }),
    ...(outcome && { outcome }),
    ...(span === undefined ? {} : { from: new Date(now - span).toISOString() })
  }
}
