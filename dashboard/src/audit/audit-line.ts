import type { Static } from '@sinclair/typebox'
import type { AuditEntry } from '../../../src/schemas/audit.ts'

export type AuditLine = Static<typeof AuditEntry>

export interface AuditEntries {
  readonly entries: readonly AuditLine[]
  readonly next_before?: string
}
