/** Credentials of a request. Only those of kind `token` are looked up. */
export type Credentials =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'none' }
  /** Not `Bearer <token>`, or sent more than once, so that two readers cannot choose different values */
  | { readonly kind: 'malformed' }

const bearer = /^bearer +([\x21-\x7e]+)$/i
const noCredentials: Credentials = { kind: 'none' }
const malformedCredentials: Credentials = { kind: 'malformed' }

/**
 * Parses the `Authorization` header, the only credential of a request (security-model.md#tokens). `rawHeaders`:
 * alternating names and values as received.
 */
export function parseCredentials(rawHeaders: readonly string[]): Credentials {
  let value: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue
    if (value !== undefined) return malformedCredentials
    value = rawHeaders[i + 1]
  }
  if (value === undefined) return noCredentials
  const token = bearer.exec(value)?.[1]
  return token === undefined ? malformedCredentials : { kind: 'token', token }
}
