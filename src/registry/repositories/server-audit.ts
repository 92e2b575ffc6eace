import { createHash } from 'node:crypto'
import { differingParts } from '../../domain/secrets/difference.ts'
import { createRedactor, secretsIn } from '../../domain/secrets/redaction.ts'
import { escapeText } from '../../domain/text/text.ts'
import type { MasterKeys } from '../crypto/envelope-encryption.ts'
import type { LeftOut, Negotiation, ServerConfig, ServerSettings } from '../model/model.ts'
import { decryptIfPossible, toConfig, type ServerRow } from './server-rows.ts'

/** Returns a server's members for the audit log. */
export const auditMembers = (
  { name: _name, ...config }: ServerConfig,
  negotiation: Negotiation | string | null,
  enabled: boolean
) => ({
  ...config,
  enabled,
  upstream: toAuditedNegotiation(negotiation)
})

export const storedAuditMembers = (keys: MasterKeys, row: ServerRow) =>
  auditMembers(toConfig(row, decryptIfPossible(keys, row)), row.negotiation, row.enabled)

/** Replaces the upstream's description of itself by a hash, since its text may contain anything. */
export function toAuditedNegotiation(negotiation: Negotiation | string | null) {
  if (negotiation === null) return null
  const { modern, legacy, hasSessions, capabilities, serverInfo, instructions } =
    typeof negotiation === 'string' ? (JSON.parse(negotiation) as Negotiation) : negotiation
  const instructionsBefore = JSON.stringify([capabilities, serverInfo, instructions])
  return {
    modern,
    legacy,
    sessions: hasSessions,
    description: createHash('sha256').update(instructionsBefore).digest('hex')
  }
}

/** Maximum length of changed instructions in the audit log, in UTF-16 units */
const MAX_INSTRUCTIONS = 200

/** Returns a function that removes the secrets of a stored server, and of its next configuration, from a text. */
export function redactorFor(keys: MasterKeys, row: ServerRow, next?: ServerConfig): (text: string) => string {
  const { settings } = row
  const known = secretsIn(decryptIfPossible(keys, row), JSON.parse(settings) as ServerSettings)
  return createRedactor(next ? [...known, ...secretsIn(next, next)] : known)
}

/**
 * Returns the differing parts of the old and new instructions for the audit log, truncated; empty objects if they are
 * equal.
 */
export function changedInstructions(
  before: string | null,
  { instructions }: Negotiation,
  redact: (text: string) => string
) {
  const instructionsBefore = before === null ? null : (JSON.parse(before) as Negotiation).instructions
  if (instructionsBefore === instructions) return [{}, {}]
  const parts = differingParts(redact(instructionsBefore ?? ''), redact(instructions ?? ''))
  return parts.map((text) => (text === '' ? {} : { instructions: escapeText(text, MAX_INSTRUCTIONS) }))
}

/** Returns the number of items left out, for the audit log. */
export function leftOutSize(text: string | null): number {
  if (text === null) return 0
  const { items, more } = JSON.parse(text) as LeftOut
  return items.length + more
}
