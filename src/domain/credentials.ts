/** Credentials of a request. Only those of kind `token` are looked up. */
export type Credentials =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'none' }
  /** Not `Bearer <token>`, or sent more than once, so that two readers cannot choose different values */
  | { readonly kind: 'malformed' }

const bearer = /^bearer +([\x21-\x7e]+)$/i
const noCredentials = { kind: 'none' } as const
const malformedCredentials = { kind: 'malformed' } as const

/**
 * Returns the value of the `Authorization` header; credentials without a token if it is absent or was sent more than
 * once. `rawHeaders`: alternating names and values as received.
 */
export function authorizationIn(rawHeaders: readonly string[]): string | Exclude<Credentials, { kind: 'token' }> {
  let value: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue
    if (value !== undefined) return malformedCredentials
    value = rawHeaders[i + 1]
  }
  return value ?? noCredentials
}

/** Parses the value of an `Authorization` header. */
export function credentialsIn(authorization: string): Credentials {
  const token = bearer.exec(authorization)?.[1]
  return token === undefined ? malformedCredentials : { kind: 'token', token }
}

/**
 * Parses the `Authorization` header, the only credential of a request (security-model.md#tokens). `rawHeaders`:
 * alternating names and values as received.
 */
export function parseCredentials(rawHeaders: readonly string[]): Credentials {
  const value = authorizationIn(rawHeaders)
  return typeof value === 'string' ? credentialsIn(value) : value
}
