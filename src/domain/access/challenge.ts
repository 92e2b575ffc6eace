/** Parts of a challenge; absent ones are left out. */
export interface ChallengeParts {
  /** Code of RFC 6750 3.1. */
  readonly error?: string | undefined
  /** Without quotes, backslashes and non-ASCII characters. */
  readonly description?: string | undefined
  /** Scopes, separated by spaces. */
  readonly scope?: string | undefined
  /** Address of the metadata of the resource (RFC 9728 5.1). */
  readonly metadata?: string | undefined
}

/** Returns the value of `WWW-Authenticate` (RFC 6750 3, RFC 9728 5.1). */
export function formatChallenge({ error, description, scope, metadata }: ChallengeParts): string {
  const parts = Object.entries({ error, error_description: description, scope, resource_metadata: metadata })
  const given = parts.flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value}"`]))
  return given.length === 0 ? 'Bearer' : `Bearer ${given.join(', ')}`
}

/** Returns the address of the metadata of an endpoint (RFC 9728 3.1). `path`: of the endpoint, below the public URL. */
export function metadataAddress(publicUrl: string, path: string): string {
  const { origin, pathname } = new URL(publicUrl)
  return `${origin}/.well-known/oauth-protected-resource${pathname.replace(/\/$/, '')}${path}`
}
