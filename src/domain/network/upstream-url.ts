import { isLoopback } from './loopback.ts'

/**
 * Returns the problem with an upstream's URL, undefined if it is valid. Never quotes the URL, which may contain a
 * password.
 */
export function upstreamUrlProblem(text: string): string | undefined {
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return 'must be a valid http:// or https:// URL'
  if (/[\s\\\p{Cc}]/u.test(text)) return 'must not contain white space, control characters or backslashes'
  if (text.includes('#')) return 'must not contain a fragment'
  const { username, password } = new URL(text)
  if (username || password || /^https?:\/\/[^/?]*@/i.test(text)) {
    return 'must not contain a user name or password; use bearer_token or headers'
  }
  return undefined
}

/** Returns scheme, host and port; undefined if the text is not a URL. */
export const originOf = (url: string | undefined): string | undefined =>
  url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined

/** Like `upstreamUrlProblem`, for URLs that OAuth sends secrets to or through: https, or http on this machine. */
export function secureUrlProblem(text: string): string | undefined {
  const problem = upstreamUrlProblem(text)
  if (problem) return problem
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || isLoopback(hostname) ? undefined : 'must be https, or http on a loopback name'
}
