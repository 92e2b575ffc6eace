import type { AuditLine } from './audit-line.ts'
import { changeText } from './change-text.ts'

/** One JSON object a line, as the REST interface gives it. */
export const toJsonLines = (entries: readonly AuditLine[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

/** Beginnings of a cell that spreadsheets take for a formula. */
const formula = /^[=+\-@\t\r]/

/** Returns a cell of CSV (RFC 4180); a text that spreadsheets would run as a formula begins with an apostrophe. */
export function csvCell(text: string): string {
  const harmless = formula.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

const columns: Readonly<Record<string, (entry: AuditLine) => string | undefined>> = {
  id: ({ id }) => id,
  at: ({ at }) => at,
  actor_kind: ({ actor_kind }) => actor_kind,
  actor: ({ actor }) => actor,
  action: ({ action }) => action,
  target: ({ target }) => target,
  outcome: ({ outcome }) => outcome,
  count: ({ count }) => String(count),
  change: (entry) => changeText(entry).join('; '),
  reason: ({ reason }) => reason,
  policy: ({ policy }) => policy,
  endpoint: ({ endpoint }) => endpoint,
  address: ({ address }) => address,
  request_id: ({ request_id }) => request_id,
  version: ({ version }) => version
}

/** Returns the entries as CSV with a row of names. */
export const toCsv = (entries: readonly AuditLine[]): string =>
  [
    Object.keys(columns).join(','),
    ...entries.map((entry) =>
      Object.values(columns)
        .map((valueOf) => csvCell(valueOf(entry) ?? ''))
        .join(',')
    )
  ]
    .map((line) => `${line}\r\n`)
    .join('')
