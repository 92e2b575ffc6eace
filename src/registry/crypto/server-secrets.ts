import { isDeepStrictEqual } from 'node:util'
import { maskArguments, maskUrl } from '../../domain/secrets/secret-parts.ts'
import { AppError } from '../../lib/errors.ts'
import type { ServerConfig, ServerSecrets, ServerSettings, StoredServer } from '../model/model.ts'
import {
  decryptEnvelope,
  encryptEnvelope,
  DecryptionError,
  type MasterKeys,
  type ValueLocation
} from './envelope-encryption.ts'

const settingNames = [
  'url',
  'command',
  'args',
  'oauth_redirect_uri',
  'oauth_client_id',
  'oauth_scopes',
  'oauth_issuer',
  'oauth_assume_pkce',
  'apps',
  'trusted_annotations',
  'definitions'
] as const
const secretNames = ['bearer_token', 'headers', 'env', 'oauth_client_secret'] as const

const locationOf = (id: string) => ({ table: 'servers', row: id, column: 'sealed' })

/** Returns the readable part of a configuration, with secrets in the URL and arguments masked. */
export const maskSettings = (config: ServerConfig): ServerSettings => ({
  ...pick(config, settingNames),
  ...maskUrlAndArgs(config)
})

const maskUrlAndArgs = ({ url, args }: ServerSettings): Pick<ServerSettings, 'url' | 'args'> => ({
  ...(url === undefined ? {} : { url: maskUrl(url) }),
  ...(args === undefined ? {} : { args: maskArguments(args) })
})

/** Returns `url` and `args` if they contain secrets. */
function secretUrlAndArgs(config: ServerSettings): Pick<ServerSecrets, 'url' | 'args'> {
  const shown = maskUrlAndArgs(config)
  const names = (['url', 'args'] as const).filter((name) => !isDeepStrictEqual(shown[name], config[name]))
  return pick(config, names)
}

/** Returns true if settings contain an unmasked secret, as stored by version 0.1. */
export const hasUnmaskedSecrets = (settings: ServerSettings): boolean =>
  Object.keys(secretUrlAndArgs(settings)).length > 0

/** Returns the settings with the original URL and arguments. `secrets` must be of the same server. */
export const restoreSettings = (settings: ServerSettings, secrets: ServerSecrets): ServerSettings => ({
  ...settings,
  ...pick(secrets, ['url', 'args'])
})

/** Encrypts the secrets of a configuration, bound to its row; null if it has none. */
export function encryptSecrets(keys: () => MasterKeys, id: string, config: ServerConfig): Buffer | null {
  const secrets = { ...pick(config, secretNames), ...secretUrlAndArgs(config) }
  return Object.keys(secrets).length === 0 ? null : encryptJson(keys(), secrets, locationOf(id))
}

/**
 * Decrypts a server's secrets. Throws an AppError if that fails, since an upstream is never called without its secret.
 */
export const decryptSecrets = (
  keys: MasterKeys,
  { id, name, sealed }: Pick<StoredServer, 'id' | 'name' | 'sealed'>
): ServerSecrets =>
  sealed === null ? {} : decryptJson<ServerSecrets>(keys, sealed, locationOf(id), `server "${name}"`)

export const encryptJson = (keys: MasterKeys, value: object, location: ValueLocation): Buffer =>
  encryptEnvelope(keys, Buffer.from(JSON.stringify(value)), location)

/** Decrypts a value of `encryptJson` for the same place. Throws an AppError if that fails. */
export function decryptJson<T>(keys: MasterKeys, sealed: Uint8Array, location: ValueLocation, owner = 'the server'): T {
  try {
    return JSON.parse(decryptEnvelope(keys, sealed, location).toString('utf8')) as T
  } catch (cause) {
    if (!(cause instanceof DecryptionError)) throw cause
    const message = `the stored secrets of ${owner} cannot be decrypted with the current encryption key`
    throw new AppError(503, message, { code: 'secrets_unreadable', cause })
  }
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  const entries = names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]])
  return Object.fromEntries(entries) as Pick<T, K>
}
