/** What a request says about who sends it. Only the first form is looked up. */
export type Credentials =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'none' }
  /** Given, but not as `Bearer <token>`, or more than once: no reader may take the first where another takes the last. */
  | { readonly kind: 'malformed' }

const bearer = /^bearer +([\x21-\x7e]+)$/i
const none: Credentials = { kind: 'none' }
const malformed: Credentials = { kind: 'malformed' }

/**
 * `rawHeaders`: names and values in turn, as they came. Nothing else of a request is a credential
 * (security-model.md#tokens).
 */
export function readCredentials(rawHeaders: readonly string[]): Credentials {
  let value: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue
    if (value !== undefined) return malformed
    value = rawHeaders[i + 1]
  }
  if (value === undefined) return none
  const token = bearer.exec(value)?.[1]
  return token === undefined ? malformed : { kind: 'token', token }
}
