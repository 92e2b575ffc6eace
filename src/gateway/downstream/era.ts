import type { IncomingHttpHeaders } from 'node:http'
import { LEGACY_VERSIONS, META, MODERN_VERSION } from '../../domain/protocol.ts'
import type { Era } from '../upstream/connection.ts'
import { CLIENT_CAPABILITIES } from './introductions.ts'
import { codes, ProtocolError, type Message } from './jsonrpc.ts'

/** Later revisions know no batches. */
export const LAST_BATCH_VERSION = '2025-03-26'

/** A header's value without surrounding white space; undefined where it is absent. */
export const header = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' ? value.trim() : undefined
}

/** Also of revisions to come, which are answered in the modern way (mcp-proxy.md#request-classification). */
const namesModern = (version: string | undefined) =>
  version !== undefined && version >= MODERN_VERSION && /^\d{4}-\d\d-\d\d$/.test(version)

const envelopeError = (id: string, problem: object) =>
  new ProtocolError(codes.invalidParams, 'Invalid params: the request envelope in "_meta" is incomplete', {
    id,
    data: { envelope: problem }
  })

/** -32020: a header that does not say what the body says. */
export const headerMismatch = (id: string, name: string, given: string | undefined, body: string) =>
  new ProtocolError(codes.headerMismatch, `Header mismatch: ${name} does not match the body`, {
    id,
    data: { mismatch: { header: given ?? '(missing)', body } }
  })

/** Member of `_meta` in which a modern request names its revision. */
export const VERSION_KEY = `${META}protocolVersion`

const hasCapabilities = (message: Message) => message.metaText(CLIENT_CAPABILITIES)?.startsWith('{') === true

/** Proxy page 1.3: both members of the envelope are required of every modern request. */
function checkEnvelope(message: Message, version: unknown, given: string | undefined): void {
  const { id } = message
  if (typeof version !== 'string') throw envelopeError(id, { key: VERSION_KEY, problem: 'must be a string' })
  if (!hasCapabilities(message)) throw envelopeError(id, { key: CLIENT_CAPABILITIES, problem: 'must be an object' })
  if (given !== undefined && given !== version) throw headerMismatch(id, 'MCP-Protocol-Version', given, version)
  if (version === MODERN_VERSION) return
  throw new ProtocolError(codes.unsupportedVersion, `Unsupported protocol version: ${version}`, {
    id,
    data: { supported: [MODERN_VERSION], requested: version }
  })
}

/**
 * The legacy handshake by definition, unless a whole modern envelope stands in it
 * (mcp-proxy.md#request-classification).
 */
const isHandshake = (message: Message, claim: unknown) =>
  message.method === 'initialize' && !(typeof claim === 'string' && namesModern(claim) && hasCapabilities(message))

/**
 * The era of one message: from its body first, then its headers are held against it
 * (mcp-proxy.md#request-classification).
 */
export function classify(headers: IncomingHttpHeaders, message: Message): Era {
  const version = header(headers, 'mcp-protocol-version')
  const claim = message.meta(VERSION_KEY)
  if (message.kind === 'response') return 'legacy'
  if (message.kind === 'notification') return claim !== undefined || namesModern(version) ? 'modern' : 'legacy'
  if (isHandshake(message, claim)) {
    if (!namesModern(version)) return 'legacy'
    throw headerMismatch(message.id, 'MCP-Protocol-Version', version, '(no modern claim)')
  }
  if (claim !== undefined) {
    checkEnvelope(message, claim, version)
    return 'modern'
  }
  if (!namesModern(version)) return 'legacy'
  const keys = [VERSION_KEY, CLIENT_CAPABILITIES].filter((key) => message.meta(key) === undefined)
  throw envelopeError(message.id, { missing: message.hasMeta ? keys : ['_meta'] })
}

const SENTINEL = /^=\?base64\?(.*)\?=$/

/**
 * Plain value of a header that may be base64 in its sentinel; undefined where that is malformed
 * (mcp-proxy.md#modern-wire).
 */
export function decodeHeader(value: string): string | undefined {
  const encoded = SENTINEL.exec(value)?.[1]
  if (encoded === undefined) return value
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.toString('base64') === encoded ? bytes.toString() : undefined
}

/** Which member of `params` the header `Mcp-Name` repeats. */
const nameMembers = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri']
])

/** Presence and equality of the standard headers of a modern request. Throws ProtocolError -32020. */
export function checkModernHeaders(headers: IncomingHttpHeaders, message: Message): void {
  const { id, method } = message
  const version = header(headers, 'mcp-protocol-version')
  if (version !== MODERN_VERSION) throw headerMismatch(id, 'MCP-Protocol-Version', version, MODERN_VERSION)
  const givenMethod = header(headers, 'mcp-method')
  if (givenMethod !== method) throw headerMismatch(id, 'Mcp-Method', givenMethod, method)
  const member = nameMembers.get(method)
  if (member === undefined) return
  const name = message.param(member)
  const given = header(headers, 'mcp-name')
  if (typeof name !== 'string') return
  if (given === undefined || decodeHeader(given) !== name) throw headerMismatch(id, 'Mcp-Name', given, name)
}

/**
 * An unknown revision in the header of a legacy request is refused; an absent one passes (mcp-proxy.md#legacy-wire).
 */
export function checkLegacyVersion(headers: IncomingHttpHeaders, id: string): void {
  const version = header(headers, 'mcp-protocol-version')
  if (version === undefined || LEGACY_VERSIONS.includes(version)) return
  const supported = LEGACY_VERSIONS.join(', ')
  throw new ProtocolError(
    codes.session,
    `Bad Request: Unsupported protocol version (supported versions: ${supported})`,
    { id }
  )
}

export const accepts = ({ accept }: IncomingHttpHeaders, type: string): boolean =>
  accept === undefined || accept.includes(type) || accept.includes('*/*') || accept.toLowerCase().includes(type)
