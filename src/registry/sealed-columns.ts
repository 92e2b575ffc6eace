/** A column of envelopes; `id` is the column whose text is the row of their place (sealed.ts). */
export interface SealedColumn {
  readonly table: string
  readonly id: string
  readonly column: string
}

/** Everything that is sealed but the canary: what is not in this list keeps its old key when keys are changed. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'servers', id: 'id', column: 'sealed' },
  { table: 'upstream_oauth_sessions', id: 'id', column: 'sealed' },
  { table: 'upstream_tokens', id: 'server_id', column: 'sealed' }
]
