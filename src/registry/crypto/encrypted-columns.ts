/** Column of encrypted values; the text of column `id` is the `row` of their `ValueLocation` (envelope-encryption.ts) */
export interface EncryptedColumn {
  readonly table: string
  readonly id: string
  readonly column: string
}

/**
 * All encrypted columns except the canary. A column missing from this list would keep its old key during a key
 * rotation.
 */
export const encryptedColumns: readonly EncryptedColumn[] = [
  { table: 'servers', id: 'id', column: 'sealed' },
  { table: 'upstream_oauth_sessions', id: 'id', column: 'sealed' },
  { table: 'upstream_tokens', id: 'server_id', column: 'sealed' },
  { table: 'oauth_records', id: 'id', column: 'sealed' },
  { table: 'signing_keys', id: 'kid', column: 'sealed' },
  { table: 'approvals', id: 'id', column: 'sealed' },
  { table: 'approvals', id: 'id', column: 'task_result' },
  { table: 'tool_groups', id: 'name', column: 'sealed' }
]
