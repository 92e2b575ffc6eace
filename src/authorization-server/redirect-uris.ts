import { isLoopback } from '../domain/network/loopback.ts'

const MAX_URIS = 16
const MAX_LENGTH = 2_048
/** Every character that a URI may have, without spaces, control characters and backslashes (RFC 3986 2). */
const printable = /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/

/**
 * Returns why an OAuth client may not have this redirect URI; undefined if it may: `https`, `http` on loopback, or a
 * private scheme of the settings (RFC 8252 7; MCP authorization, Open Redirection).
 */
export function redirectUriProblem(uri: unknown, schemes: readonly string[]): string | undefined {
  if (typeof uri !== 'string' || uri.length > MAX_LENGTH || !printable.test(uri) || !URL.canParse(uri)) {
    return `a redirect URI must be a URI of at most ${MAX_LENGTH} characters`
  }
  const { protocol, hostname, username, password } = new URL(uri)
  if (uri.includes('#')) return 'a redirect URI must not have a fragment'
  if (username !== '' || password !== '') return 'a redirect URI must not have a user'
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:\/|[?#]|$)/i.test(uri.slice(protocol.length))) {
    return 'a redirect URI must not have "." or ".." in its path'
  }
  if (protocol === 'https:') return undefined
  if (protocol === 'http:') {
    return isLoopback(hostname) ? undefined : 'a redirect URI with http must be on a loopback host; use https'
  }
  const scheme = protocol.slice(0, -1)
  return schemes.includes(scheme) ? undefined : `redirect URIs of the scheme "${scheme}" are not allowed`
}

/** Returns why an OAuth client may not have these redirect URIs; undefined if it may. */
export function redirectUrisProblem(uris: unknown, schemes: readonly string[]): string | undefined {
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_URIS) {
    return `"redirect_uris" must be an array of 1 to ${MAX_URIS} URIs`
  }
  for (const uri of uris) {
    const problem = redirectUriProblem(uri, schemes)
    if (problem !== undefined) return problem
  }
  return undefined
}
