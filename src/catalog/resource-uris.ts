import { decodePercent } from '../domain/loose-uri.ts'

/**
 * Form of a resource's address at an endpoint: the server's own URI, or an address that also names the server, which is
 * `ui://<server>/…` for interfaces of MCP Apps, `skill://<server>/…` for files of skills, and `towpath://<server>/…` for
 * other resources (mcp-proxy.md#resource-uris, mcp-proxy.md#apps, mcp-proxy.md#skills).
 */
export type AddressForm = 'own' | 'alias' | 'named'

/** Server and own URI that an address names. */
export interface NamedUri {
  readonly server: string
  readonly uri: string
}

const ALIAS = 'towpath://'

export const aliasOf = (server: string, uri: string): string => `${ALIAS}${server}/${uri}`

/** Splits an alias into server and own URI; undefined for other URIs. */
export function splitAlias(uri: string): NamedUri | undefined {
  if (!uri.startsWith(ALIAS)) return undefined
  const slash = uri.indexOf('/', ALIAS.length)
  return slash < 0 ? undefined : { server: uri.slice(ALIAS.length, slash), uri: uri.slice(slash + 1) }
}

const LOOSE_ALIAS = /^towpath:(?:[\\/]|%2f|%5c){2}/i

/**
 * Returns true for URIs that a client may read as an alias, also in spellings that only lenient parsers accept.
 */
export const looksLikeAlias = (uri: string): boolean => LOOSE_ALIAS.test(startOf(uri))

const APP = /^ui:\/\//i
/** Schemes of which every address names its server in its first segment. */
const NAMED = /^(?:ui|skill):\/\//i

// oxlint-disable-next-line no-control-regex -- these are the characters
const ignoredInFront = /^[\0- \s\p{Cf}]+/u
/**
 * Removes the characters that URL parsers or programs in front of them ignore: white space and invisible characters in
 * front, tabs and line ends anywhere.
 */
const withoutIgnored = (uri: string) =>
  /^[!-~]/.test(uri) && !/[\t\n\r]/.test(uri) ? uri : uri.replace(/[\t\n\r]/g, '').replace(ignoredInFront, '')

/** Characters of a URI that a test of its scheme reads: those of `towpath:%2f%2f`, and more */
const START = 16

/** Returns the first characters without ignored ones. Most URIs need no look at the rest, which may be long. */
function startOf(uri: string): string {
  const start = uri.slice(0, START)
  return /^[!-~]*$/.test(start) ? start : withoutIgnored(uri).slice(0, START)
}

/** Returns true for the address of an interface, also in spellings that only lenient parsers accept. */
export const isAppUri = (uri: string): boolean => APP.test(startOf(uri))

/**
 * Returns true for interfaces and for files of skills, whose addresses name their server at endpoints with qualified
 * names; also in spellings that only lenient parsers accept.
 */
export const hasNamedAddress = (uri: string): boolean => NAMED.test(startOf(uri))

/** Returns true for all URIs with the schemes of interfaces and skills, which are never sent to a server by guessing. */
export const hasNamedScheme = (uri: string): boolean => /^(?:ui|skill):/i.test(startOf(uri))

const lengthOfScheme = (uri: string) => uri.indexOf('://') + '://'.length

/** Returns the address that names the server; `uri` satisfies `hasNamedAddress`. */
export function namedAddressOf(server: string, uri: string): string {
  const text = withoutIgnored(uri)
  const start = lengthOfScheme(text)
  return `${text.slice(0, start)}${server}/${text.slice(start)}`
}

/** Splits the address of an interface or skill into server and own URI; undefined for other texts. */
export function splitNamedAddress(address: string): NamedUri | undefined {
  if (!NAMED.test(address)) return undefined
  const start = lengthOfScheme(address)
  const slash = address.indexOf('/', start)
  if (slash < 0) return undefined
  return { server: address.slice(start, slash), uri: `${address.slice(0, start)}${address.slice(slash + 1)}` }
}

/** Returns the address that names the server: an alias unless the scheme has addresses of its own. */
export const addressOf = (server: string, uri: string): string =>
  hasNamedAddress(uri) ? namedAddressOf(server, uri) : aliasOf(server, uri)

/** Returns the address of a URI that a server sends: one that could lead to another server names its sender. */
export const sentAddressOf = (server: string, uri: string): string =>
  hasNamedAddress(uri) || looksLikeAlias(uri) ? addressOf(server, uri) : uri

/** Returns a server's URI in a form of address. */
export function formatAddress(form: AddressForm, server: string, uri: string): string {
  if (form === 'own') return uri
  return form === 'named' ? addressOf(server, uri) : aliasOf(server, uri)
}

/**
 * Returns the first segment of an address as a lenient client may read it: decoded, in lower case, without user or port,
 * ending at any kind of slash. Two addresses that some client may take for the same server have the same text.
 */
export function looseSegmentOf(address: string): string {
  const segments = decodePercent(withoutIgnored(address).replace(NAMED, '').replace(LOOSE_ALIAS, '')).split(/[/\\?#]/)
  const first = segments.map((segment) => segment.trim()).find((segment) => !skippedSegments.has(segment)) ?? ''
  return first.replace(/^.*@/s, '').replace(/:\d*$/, '').trim().toLowerCase()
}

/** Segments that do not change the path. */
const skippedSegments: ReadonlySet<string> = new Set(['', '.', '..'])
