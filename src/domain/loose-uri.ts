/** A URI in the form that all spellings share which some server may read as the same file. */
export interface LooseUri {
  readonly scheme: string
  readonly path: string
}

/** Limit of rounds of decoding: more layers are not decoded by any server or client. */
const MAX_ROUNDS = 4

/** Removes all layers of percent-encoding; what is not valid stays. */
export function decodePercent(text: string): string {
  let decoded = text
  for (let round = 0; round < MAX_ROUNDS && decoded.includes('%'); round++) {
    try {
      decoded = decodeURIComponent(decoded)
    } catch {
      return decoded
    }
  }
  return decoded
}

// oxlint-disable-next-line no-control-regex -- URL parsers skip some of these characters
const controls = /[\0-\x1f\x7f]/g

/** Returns a URI decoded, in lower case, without control characters, query, fragment and repeated slashes. */
export function looseUri(uri: string): LooseUri {
  const decoded = decodePercent(uri).replace(controls, '').toLowerCase().trim()
  const colon = decoded.indexOf(':')
  const rest = decoded.slice(colon + 1).replace(/[?#].*$/s, '')
  return { scheme: decoded.slice(0, colon), path: rest.replace(/[\\/]+/g, '/').replace(/^\/|\/$/g, '') }
}

/** Escapes of a dot, a slash and a backslash, also if the `%` is escaped itself. */
const escapes = /%(?:25)*(2e|2f|5c)/gi
// oxlint-disable-next-line no-control-regex -- URL parsers skip some of these characters
const ignored = /[\0-\x1f\x7f]|^ | $/
/** Segments that lead elsewhere; some servers also read them with parameters behind `;`, or beyond a `?` or `#`. */
const dotSegment = /(?:^|[/\\?#:])\.{1,2}(?:$|[/\\?#;])/

/**
 * Returns true if servers may read a URI as that of another resource: its path has segments "." or "..", escapes of dots
 * and slashes, or backslashes, or the URI has characters that parsers skip.
 */
export function isEvasiveUri(uri: string): boolean {
  const path = uri.replace(/[?#].*$/s, '')
  if (ignored.test(uri) || path.includes('\\') || path.search(escapes) >= 0) return true
  return dotSegment.test(uri.replace(escapes, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))))
}

/**
 * Returns the text that all spellings of a URI share which a server may read as the same resource: as URL parsers write
 * it, decoded, in lower case. Query and fragment count.
 */
export function comparableUri(uri: string): string {
  const text = uri.replace(controls, '').trim()
  return decodePercent(URL.canParse(text) ? new URL(text).href : text)
    .replace(controls, '')
    .toLowerCase()
}
