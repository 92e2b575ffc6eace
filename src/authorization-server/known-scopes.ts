import { tokenScopes } from '../domain/access/access.ts'

/** Scopes that clients can register with. */
export const knownScopes: readonly string[] = [...tokenScopes, 'offline_access']

/**
 * Returns the metadata of a client without the scopes that the library does not know, and would refuse: a client may ask
 * for those of policies in the authorization request. A server may replace what a client registers (RFC 7591 2).
 */
export function withKnownScopes({ scope, ...metadata }: Record<string, unknown>): object {
  if (typeof scope !== 'string') return { ...metadata, scope }
  const known = scope.split(' ').filter((each) => knownScopes.includes(each))
  return known.length === 0 ? metadata : { ...metadata, scope: known.join(' ') }
}
