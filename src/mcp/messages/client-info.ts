import { isObject } from '../../domain/is-object.ts'
import { META } from '../../domain/mcp-constants.ts'
import { escapeText } from '../../domain/text/text.ts'
import { memoize } from '../../lib/memoize.ts'
import { callerCapabilities, noCapabilities, type CallerCapabilities } from './capabilities.ts'
import type { Message } from '../../protocol/jsonrpc.ts'

const CLIENT_INFO = `${META}clientInfo`
export const CLIENT_CAPABILITIES = `${META}clientCapabilities`

/** Limit of the stored name, which is kept as long as its session. */
const MAX_NAME_CHARACTERS = 100

/** Returns the name in `clientInfo` as one line, control characters escaped; undefined if absent. */
export const clientNameOf = (clientInfo: unknown): string | undefined =>
  isObject(clientInfo) && typeof clientInfo.name === 'string'
    ? escapeText(clientInfo.name, MAX_NAME_CHARACTERS)
    : undefined

/** A client's `clientInfo` and its name. */
export interface ClientInfo {
  readonly info: unknown
  readonly name: string | undefined
}

/** Parsed client info and capabilities, which modern clients repeat in every request (mcp-proxy.md#modern-wire). */
export interface ClientInfoCache {
  client(message: Message): ClientInfo
  /** Returns the client's capabilities to declare upstream. */
  capabilities(message: Message): CallerCapabilities
}

const unknownClient: ClientInfo = { info: undefined, name: undefined }

export function createClientInfoCache(): ClientInfoCache {
  const clientOf = memoize<ClientInfo>((text) => {
    const info: unknown = JSON.parse(text)
    return { info, name: clientNameOf(info) }
  })
  const capabilitiesOf = memoize((text) => callerCapabilities(JSON.parse(text)))
  return {
    client(message) {
      const text = message.metaText(CLIENT_INFO)
      return text === undefined ? unknownClient : clientOf(text)
    },
    capabilities(message) {
      const text = message.metaText(CLIENT_CAPABILITIES)
      return text === undefined || text === '{}' ? noCapabilities : capabilitiesOf(text)
    }
  }
}
