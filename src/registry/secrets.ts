import { AppError } from '../errors.ts'
import type { ServerConfig, ServerSecrets, ServerSettings, StoredServer } from './model.ts'
import { open, seal, SealError } from './sealed.ts'

const settingNames = ['url', 'command', 'args', 'oauth_redirect_uri', 'oauth_client_id', 'oauth_scopes'] as const
const secretNames = ['bearer_token', 'headers', 'env', 'oauth_client_secret'] as const

const placeOf = (id: string) => ({ table: 'servers', row: id, column: 'sealed' })

export const settingsOf = (config: ServerConfig): ServerSettings => pick(config, settingNames)

/** The sealed part of a configuration, bound to the row; null where it has none. */
export function sealSecrets(master: Buffer, id: string, config: ServerConfig): Buffer | null {
  const secrets = pick(config, secretNames)
  if (Object.keys(secrets).length === 0) return null
  return seal(master, Buffer.from(JSON.stringify(secrets)), placeOf(id))
}

/** Throws AppError when the value does not open: an upstream is never called without its secret. */
export function openSecrets(master: Buffer, { id, sealed }: Pick<StoredServer, 'id' | 'sealed'>): ServerSecrets {
  if (sealed === null) return {}
  try {
    return JSON.parse(open(master, sealed, placeOf(id)).toString('utf8')) as ServerSecrets
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
