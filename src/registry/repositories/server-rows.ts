import { isDeepStrictEqual } from 'node:util'
import type { Selectable } from 'kysely'
import { AppError } from '../../lib/errors.ts'
import { envelopePayload, type MasterKeys } from '../crypto/envelope-encryption.ts'
import { decryptSecrets } from '../crypto/server-secrets.ts'
import type { Negotiation, ServerConfig, ServerSecrets, ServerSettings, StoredServer } from '../model/model.ts'
import type { Tables } from '../model/tables.ts'

/** Columns of a server's configuration and state, without its items */
export const serverColumns = [
  'id',
  'name',
  'transport',
  'description',
  'session_mode',
  'settings',
  'sealed',
  'enabled',
  'negotiation'
] as const
export type ServerRow = Pick<Selectable<Tables['servers']>, (typeof serverColumns)[number]>

export const toConfig = (row: Omit<ServerRow, 'enabled' | 'negotiation'>, secrets: ServerSecrets): ServerConfig => ({
  name: row.name,
  transport: row.transport,
  ...(row.description !== null && { description: row.description }),
  session_mode: row.session_mode,
  ...(JSON.parse(row.settings) as ServerSettings),
  ...secrets
})

/** Returns true if the secrets of a server can be decrypted with the keys of this process. */
export function canDecrypt(keys: MasterKeys, row: ServerRow): boolean {
  try {
    decryptSecrets(keys, row)
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

/** Returns no secrets if they cannot be decrypted, so that such a server can still be replaced and removed. */
export function decryptIfPossible(keys: MasterKeys, row: ServerRow): ServerSecrets {
  try {
    return decryptSecrets(keys, row)
  } catch (error) {
    if (error instanceof AppError) return {}
    throw error
  }
}

/** Stored settings that determine how an upstream is contacted */
export type ConnectionConfig = Pick<StoredServer, 'transport' | 'session_mode' | 'settings' | 'sealed'>

const noSecrets = Buffer.alloc(0)

/** Compares configurations. Equal payloads mean equal secrets, whichever master key wraps the data key. */
export function isSameConfig(
  row: Omit<ConnectionConfig, 'settings'> & { settings: string },
  expected: ConnectionConfig
): boolean {
  return (
    row.transport === expected.transport &&
    row.session_mode === expected.session_mode &&
    isDeepStrictEqual(JSON.parse(row.settings), expected.settings) &&
    Buffer.compare(envelopePayload(row.sealed ?? noSecrets), envelopePayload(expected.sealed ?? noSecrets)) === 0
  )
}

/** Removes the members that may differ at every negotiation. */
const withoutVolatile = ({ checkedAt: _at, listTtlMs: _ttl, ...negotiation }: Negotiation) => negotiation

export function isSameNegotiation(stored: string | null, negotiation: Negotiation): boolean {
  if (stored === null) return false
  const plain = JSON.parse(JSON.stringify(negotiation)) as Negotiation
  return isDeepStrictEqual(withoutVolatile(JSON.parse(stored) as Negotiation), withoutVolatile(plain))
}
