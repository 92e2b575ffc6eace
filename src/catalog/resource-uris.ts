/**
 * Form of a resource's address at an endpoint: the server's own URI, or an address that also names the server, which is
 * `ui://<server>/…` for interfaces of MCP Apps and `towpath://<server>/…` for other resources
 * (mcp-proxy.md#resource-uris, mcp-proxy.md#apps).
 */
export type AddressForm = 'own' | 'alias' | 'app'

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

const APP = /^ui:\/\//i
const APP_LENGTH = 'ui://'.length

/** Removes the characters that URL parsers ignore: white space in front, tabs and line ends anywhere. */
const withoutIgnored = (uri: string) => (/^[^\0- ]/.test(uri) && !/[\t\n\r]/.test(uri) ? uri : removeIgnored(uri))
// oxlint-disable-next-line no-control-regex -- these are the characters
const removeIgnored = (uri: string) => uri.replace(/[\t\n\r]/g, '').replace(/^[\0- ]+/, '')

/** Returns true for the address of an interface, also in spellings that only lenient parsers accept. */
export const isAppUri = (uri: string): boolean => APP.test(withoutIgnored(uri))

/** Returns true for all URIs with the scheme of interfaces, which are never sent to a server by guessing. */
export const hasAppScheme = (uri: string): boolean => /^ui:/i.test(withoutIgnored(uri))

/** Returns the address of a server's interface at endpoints with qualified names; `uri` satisfies `isAppUri`. */
export function appAddressOf(server: string, uri: string): string {
  const text = withoutIgnored(uri)
  return `${text.slice(0, APP_LENGTH)}${server}/${text.slice(APP_LENGTH)}`
}

/** Splits the address of an interface into server and own URI; undefined for other texts. */
export function splitAppAddress(address: string): NamedUri | undefined {
  if (!APP.test(address)) return undefined
  const slash = address.indexOf('/', APP_LENGTH)
  if (slash < 0) return undefined
  return {
    server: address.slice(APP_LENGTH, slash),
    uri: `${address.slice(0, APP_LENGTH)}${address.slice(slash + 1)}`
  }
}

/** Returns the address that names the server: `ui://<server>/…` for interfaces, an alias for other resources. */
export const addressOf = (server: string, uri: string): string =>
  isAppUri(uri) ? appAddressOf(server, uri) : aliasOf(server, uri)

/** Returns a server's URI in a form of address. */
export function formatAddress(form: AddressForm, server: string, uri: string): string {
  if (form === 'own') return uri
  return form === 'app' ? addressOf(server, uri) : aliasOf(server, uri)
}

/** Limit of percent-decoding: more layers are not decoded by any client. */
const MAX_DECODING = 4

function decodePercent(text: string): string {
  let decoded = text
  for (let i = 0; i < MAX_DECODING && decoded.includes('%'); i++) {
    try {
      decoded = decodeURIComponent(decoded)
    } catch {
      return decoded
    }
  }
  return decoded
}

/**
 * Returns the first segment of an interface's address as a lenient client may read it: decoded, in lower case, ending at
 * any kind of slash. Two addresses that some client may take for the same server have the same text.
 */
export const looseSegmentOf = (address: string): string =>
  decodePercent(withoutIgnored(address).slice(APP_LENGTH))
    .split(/[/\\?#]/, 1)[0]!
    .toLowerCase()
