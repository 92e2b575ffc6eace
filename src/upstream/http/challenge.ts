/** Parameters of the `WWW-Authenticate` header of a 401 or 403 (RFC 6750, RFC 9728). */
export interface Challenge {
  readonly resourceMetadata?: string
  readonly scope?: string
  /** Error code, for example `insufficient_scope`. */
  readonly error?: string
}

/** Scopes as they may be shown (RFC 6749 3.3). */
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/
const MAX_SCOPES = 500

const parameter = (header: string, name: string) => {
  const found = new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s,"]+))`, 'i').exec(header)
  return found ? (found[1]?.replace(/\\(.)/g, '$1') ?? found[2]) : undefined
}

export function readChallenge(header: string | undefined): Challenge {
  if (header === undefined || !/(?:^|[\s,])bearer(?:\s|$)/i.test(header)) return {}
  const resourceMetadata = parameter(header, 'resource_metadata')
  const scope = parameter(header, 'scope')
  const error = parameter(header, 'error')
  return { ...(resourceMetadata ? { resourceMetadata } : {}), ...(scope ? { scope } : {}), ...(error ? { error } : {}) }
}

/** Returns the scopes that a 403 demands; undefined if it is refused for another reason or they cannot be shown. */
export function missingScopes(header: string | undefined): string | undefined {
  const { error, scope } = readChallenge(header)
  if (error !== 'insufficient_scope' || scope === undefined) return undefined
  return scope.length <= MAX_SCOPES && SCOPES.test(scope) ? scope : undefined
}
