import { isObject } from '../is-object.ts'
import { signingAlgorithms } from './signing-algorithms.ts'

/** Public key (RFC 7517), with the members that are needed to verify a signature. */
export type PublicJwk = Readonly<Record<string, string>>

/** JSON Web Key Set of public keys. */
export interface KeySet {
  readonly keys: readonly PublicJwk[]
}

const MAX_KEYS = 10
const MAX_TEXT = 2_048
const membersOf: Readonly<Record<string, readonly string[]>> = {
  RSA: ['n', 'e'],
  EC: ['crv', 'x', 'y'],
  OKP: ['crv', 'x']
}
const optional = ['kid', 'alg', 'use']
const confidential = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_TEXT && /^[\x20-\x7e]+$/.test(value)

function keyProblem(key: unknown): string | undefined {
  if (!isObject(key)) return 'a key must be an object'
  if (confidential.some((name) => Object.hasOwn(key, name))) {
    return 'a key is confidential: send the public keys only, and replace the pair, which is no longer secret'
  }
  const { kty, alg, use } = key
  const members = typeof kty === 'string' && Object.hasOwn(membersOf, kty) ? membersOf[kty] : undefined
  if (!members) return `"kty" must be one of ${Object.keys(membersOf).join(', ')}`
  const missing = members.find((name) => !isText(key[name]))
  if (missing !== undefined) return `"${missing}" is missing, too long or no text`
  const wrong = optional.find((name) => key[name] !== undefined && !isText(key[name]))
  if (wrong !== undefined) return `"${wrong}" is too long or no text`
  if (use !== undefined && use !== 'sig') return '"use" must be "sig"'
  const isKnown = alg === undefined || signingAlgorithms.some((name) => name === alg)
  return isKnown ? undefined : `"alg" must be one of ${signingAlgorithms.join(', ')}`
}

/** Returns why a value is no set of public keys; undefined if it is. Whether the numbers are a key is not checked. */
export function keySetProblem(value: unknown): string | undefined {
  const keys: unknown = isObject(value) ? value['keys'] : undefined
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_KEYS) {
    return `"keys" must be an array of 1 to ${MAX_KEYS} keys`
  }
  for (const key of keys as readonly unknown[]) {
    const problem = keyProblem(key)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Returns the members of a key set that are stored, in a fixed order. `value` must have no problem. */
export const toKeySet = (value: { readonly keys: readonly unknown[] }): KeySet => ({
  keys: value.keys.map((key) => {
    const given = key as PublicJwk
    const names = ['kty', ...membersOf[given['kty']!]!, ...optional]
    return Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])))
  })
})
