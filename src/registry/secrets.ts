import { AppError } from '../errors.ts'
import type { ServerConfig, ServerSecrets, ServerSettings, StoredServer } from './model.ts'
import { open, seal, SealError, type Place } from './sealed.ts'

const settingNames = ['url', 'command', 'args', 'oauth_redirect_uri', 'oauth_client_id', 'oauth_scopes'] as const
const secretNames = ['bearer_token', 'headers', 'env', 'oauth_client_secret'] as const

const placeOf = (id: string) => ({ table: 'servers', row: id, column: 'sealed' })

export const settingsOf = (config: ServerConfig): ServerSettings => pick(config, settingNames)

/** The sealed part of a configuration, bound to the row; null where it has none. */
export function sealSecrets(master: Buffer, id: string, config: ServerConfig): Buffer | null {
  const secrets = pick(config, secretNames)
  return Object.keys(secrets).length === 0 ? null : sealJson(master, secrets, placeOf(id))
}

/** Throws AppError when the value does not open: an upstream is never called without its secret. */
export const openSecrets = (master: Buffer, { id, sealed }: Pick<StoredServer, 'id' | 'sealed'>): ServerSecrets =>
  sealed === null ? {} : openSealed<ServerSecrets>(master, sealed, placeOf(id))

export const sealJson = (master: Buffer, value: object, place: Place): Buffer =>
  seal(master, Buffer.from(JSON.stringify(value)), place)

/** What `sealJson` made for the same place. Throws AppError when it does not open. */
export function openSealed<T>(master: Buffer, sealed: Uint8Array, place: Place): T {
  try {
    return JSON.parse(open(master, sealed, place).toString('utf8')) as T
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause
    const message = 'the stored secrets of the server do not open with the encryption key in use'
    throw new AppError(503, message, { code: 'secrets_unreadable', cause })
  }
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  const entries = names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]])
  return Object.fromEntries(entries) as Pick<T, K>
}
