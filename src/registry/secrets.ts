import { isDeepStrictEqual } from 'node:util'
import { maskedArguments, maskedUrl } from '../domain/secret-parts.ts'
import { AppError } from '../errors.ts'
import type { ServerConfig, ServerSecrets, ServerSettings, StoredServer } from './model.ts'
import { open, seal, SealError, type Keyring, type Place } from './sealed.ts'

const settingNames = [
  'url',
  'command',
  'args',
  'oauth_redirect_uri',
  'oauth_client_id',
  'oauth_scopes',
  'oauth_issuer',
  'oauth_assume_pkce'
] as const
const secretNames = ['bearer_token', 'headers', 'env', 'oauth_client_secret'] as const

const placeOf = (id: string) => ({ table: 'servers', row: id, column: 'sealed' })

/** Returns the readable part of a configuration, with secrets in the URL and arguments masked. */
export const settingsOf = (config: ServerConfig): ServerSettings => ({
  ...pick(config, settingNames),
  ...masked(config)
})

const masked = ({ url, args }: ServerSettings): Pick<ServerSettings, 'url' | 'args'> => ({
  ...(url === undefined ? {} : { url: maskedUrl(url) }),
  ...(args === undefined ? {} : { args: maskedArguments(args) })
})

/** Returns `url` and `args` if they contain secrets. */
function hiddenIn(config: ServerSettings): Pick<ServerSecrets, 'url' | 'args'> {
  const shown = masked(config)
  const names = (['url', 'args'] as const).filter((name) => !isDeepStrictEqual(shown[name], config[name]))
  return pick(config, names)
}

/** Returns true if settings contain an unmasked secret, as stored by version 0.1. */
export const holdsSecrets = (settings: ServerSettings): boolean => Object.keys(hiddenIn(settings)).length > 0

/** Returns the settings with the original URL and arguments. `secrets` must be of the same server. */
export const wholeSettings = (settings: ServerSettings, secrets: ServerSecrets): ServerSettings => ({
  ...settings,
  ...pick(secrets, ['url', 'args'])
})

/** Encrypts the secrets of a configuration, bound to its row; null if it has none. */
export function sealSecrets(keys: () => Keyring, id: string, config: ServerConfig): Buffer | null {
  const secrets = { ...pick(config, secretNames), ...hiddenIn(config) }
  return Object.keys(secrets).length === 0 ? null : sealJson(keys(), secrets, placeOf(id))
}

/**
 * Decrypts a server's secrets. Throws an AppError if that fails, since an upstream is never called without its secret.
 */
export const openSecrets = (
  keys: Keyring,
  { id, name, sealed }: Pick<StoredServer, 'id' | 'name' | 'sealed'>
): ServerSecrets => (sealed === null ? {} : openSealed<ServerSecrets>(keys, sealed, placeOf(id), `server "${name}"`))

export const sealJson = (keys: Keyring, value: object, place: Place): Buffer =>
  seal(keys, Buffer.from(JSON.stringify(value)), place)

/** Decrypts a value of `sealJson` for the same place. Throws an AppError if that fails. */
export function openSealed<T>(keys: Keyring, sealed: Uint8Array, place: Place, owner = 'the server'): T {
  try {
    return JSON.parse(open(keys, sealed, place).toString('utf8')) as T
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause
    const message = `the stored secrets of ${owner} do not open with the encryption key in use`
    throw new AppError(503, message, { code: 'secrets_unreadable', cause })
  }
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  const entries = names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]])
  return Object.fromEntries(entries) as Pick<T, K>
}
