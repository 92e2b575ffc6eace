/** Characters that URL parsers skip, or read in different ways. */
const ambiguous = /[\\\s\p{C}]/u
const form = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i

/**
 * Returns the host of a URL in lower case, without its port and without a dot at its end. Throws for other texts, and
 * for URLs in which programs find different hosts: with white space, control characters, backslashes, a user, escapes in
 * the host, or without `//`.
 */
export function hostOf(url: string): string {
  const authority = form.exec(url)?.[1]
  if (authority === undefined || ambiguous.test(url) || /[@%]/.test(authority))
    throw new Error('the text has no unambiguous host')
  return new URL(url).hostname.toLowerCase().replace(/\.$/, '')
}
