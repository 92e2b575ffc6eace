import type { IncomingHttpHeaders } from 'node:http'
import { LEGACY_VERSIONS, META, MODERN_VERSION } from '../../domain/mcp-constants.ts'
import type { Era } from '../../upstream/transport/connection.ts'
import { CLIENT_CAPABILITIES } from './client-info.ts'
import { codes, ProtocolError, type Message } from '../../protocol/jsonrpc.ts'

/** Last revision with JSON-RPC batches. */
export const LAST_BATCH_VERSION = '2025-03-26'

/** Returns a header's value, trimmed; undefined if absent. */
export const header = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' ? value.trim() : undefined
}

/** Returns true for the modern revision and any later one (mcp-proxy.md#request-classification). */
const namesModern = (version: string | undefined) =>
  version !== undefined && version >= MODERN_VERSION && /^\d{4}-\d\d-\d\d$/.test(version)

const envelopeError = (id: string, problem: object) =>
  new ProtocolError(codes.invalidParams, 'Invalid params: the request envelope in "_meta" is incomplete', {
    id,
    data: { envelope: problem }
  })

/** Returns error -32020: a header contradicts the body. */
export const headerMismatch = (id: string, name: string, given: string | undefined, body: string) =>
  new ProtocolError(codes.headerMismatch, `Header mismatch: ${name} does not match the body`, {
    id,
    data: { mismatch: { header: given ?? '(missing)', body } }
  })

/** `_meta` member in which a modern request declares its protocol version. */
export const VERSION_KEY = `${META}protocolVersion`

const hasCapabilities = (message: Message) => message.metaText(CLIENT_CAPABILITIES)?.startsWith('{') === true

/** Checks the two `_meta` members that every modern request must declare (mcp-proxy.md#request-classification). */
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
 * `initialize` is the legacy handshake, unless it declares a complete modern envelope
 * (mcp-proxy.md#request-classification).
 */
const isHandshake = (message: Message, declaredVersion: unknown) =>
  message.method === 'initialize' &&
  !(typeof declaredVersion === 'string' && namesModern(declaredVersion) && hasCapabilities(message))

/**
 * Returns the era of one message, decided by its body; the headers must agree with it
 * (mcp-proxy.md#request-classification). Throws ProtocolError.
 */
export function classify(headers: IncomingHttpHeaders, message: Message): Era {
  const version = header(headers, 'mcp-protocol-version')
  const declaredVersion = message.meta(VERSION_KEY)
  if (message.kind === 'response') return 'legacy'
  if (message.kind === 'notification')
    return declaredVersion !== undefined || namesModern(version) ? 'modern' : 'legacy'
  if (isHandshake(message, declaredVersion)) {
    if (!namesModern(version)) return 'legacy'
    throw headerMismatch(message.id, 'MCP-Protocol-Version', version, '(no modern claim)')
  }
  if (declaredVersion !== undefined) {
    checkEnvelope(message, declaredVersion, version)
    return 'modern'
  }
  if (!namesModern(version)) return 'legacy'
  const keys = [VERSION_KEY, CLIENT_CAPABILITIES].filter((key) => message.meta(key) === undefined)
  throw envelopeError(message.id, { missing: message.hasMeta ? keys : ['_meta'] })
}

const SENTINEL = /^=\?base64\?(.*)\?=$/

/** Decodes a header value that may be wrapped as `=?base64?…?=`; undefined if malformed (mcp-proxy.md#modern-wire). */
export function decodeHeader(value: string): string | undefined {
  const encoded = SENTINEL.exec(value)?.[1]
  if (encoded === undefined) return value
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.toString('base64') === encoded ? bytes.toString() : undefined
}

/** Member of `params` that the `Mcp-Name` header repeats, by method. */
const nameMembers = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId']
])

/** Checks that the standard headers of a modern request are present and match the body. Throws ProtocolError -32020. */
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
 * Rejects an unknown protocol version in the header of a legacy request; an absent header passes
 * (mcp-proxy.md#legacy-wire).
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
