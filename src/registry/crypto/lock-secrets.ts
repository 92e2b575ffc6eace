import { isDeepStrictEqual } from 'node:util'
import {
  maskLocks,
  secretsOfLocks,
  type LockSecrets,
  type ToolOverrides
} from '../../domain/overrides/tool-overrides.ts'
import { AppError } from '../../lib/errors.ts'
import type { StoredGroup } from '../model/model.ts'
import type { MasterKeys } from './envelope-encryption.ts'
import { decryptJson, encryptJson } from './server-secrets.ts'

const locationOf = (group: string) => ({ table: 'tool_groups', row: group, column: 'sealed' })

/** Decrypts the secrets in the locks of a group. Throws an AppError if that fails. */
export const decryptLocks = (keys: MasterKeys, { name, sealed }: Pick<StoredGroup, 'name' | 'sealed'>): LockSecrets =>
  sealed === null ? {} : decryptJson<LockSecrets>(keys, sealed, locationOf(name), `tool group "${name}"`)

/** Returns no secrets if they cannot be decrypted, so that such a group can still be replaced and removed. */
export function decryptLocksIfPossible(keys: MasterKeys, group: Pick<StoredGroup, 'name' | 'sealed'>): LockSecrets {
  try {
    return decryptLocks(keys, group)
  } catch (error) {
    if (error instanceof AppError) return {}
    throw error
  }
}

/** Overrides as they are stored: readable ones, and their secrets encrypted. */
export interface SealedOverrides {
  readonly overrides: string
  readonly sealed: Uint8Array | null
}

/**
 * Splits the secrets off overrides and encrypts them, bound to the group. `before`: the group that is replaced, whose
 * encrypted secrets are reused if they are the same.
 */
export function sealOverrides(
  keys: { readonly current: () => MasterKeys; readonly all: MasterKeys },
  group: string,
  tools: ToolOverrides,
  before: Uint8Array | null = null
): SealedOverrides {
  const overrides = JSON.stringify(maskLocks(tools))
  const secrets = secretsOfLocks(tools)
  if (Object.keys(secrets).length === 0) return { overrides, sealed: null }
  const known = before && decryptLocksIfPossible(keys.all, { name: group, sealed: before })
  const sealed = isDeepStrictEqual(known, secrets) ? before : encryptJson(keys.current(), secrets, locationOf(group))
  return { overrides, sealed }
}
