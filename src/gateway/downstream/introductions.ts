import { isObject } from '../../domain/is-object.ts'
import { META } from '../../domain/protocol.ts'
import { escapeText } from '../../domain/text.ts'
import { memoize } from '../memo.ts'
import { upstreamCapabilities } from './capabilities.ts'
import type { Message } from './jsonrpc.ts'

const CLIENT_INFO = `${META}clientInfo`
export const CLIENT_CAPABILITIES = `${META}clientCapabilities`

/** It is kept for as long as a session is. */
const MAX_NAME_CHARACTERS = 100

/** How a client names itself in its `clientInfo`, undefined where it does not. One line that shows what it holds. */
export const clientNameOf = (clientInfo: unknown): string | undefined =>
  isObject(clientInfo) && typeof clientInfo.name === 'string'
    ? escapeText(clientInfo.name, MAX_NAME_CHARACTERS)
    : undefined

/** A client as it introduces itself. */
export interface ClientInfo {
  readonly info: unknown
  readonly name: string | undefined
}

/**
 * What clients say of themselves with each request that belongs to no session: modern ones do
 * (mcp-proxy.md#modern-wire).
 */
export interface ClientInfoCache {
  client(message: Message): ClientInfo
  /** JSON text of its capabilities as they go upstream. */
  capabilities(message: Message): string
}

const unknownClient: ClientInfo = { info: undefined, name: undefined }

export function createClientInfoCache(): ClientInfoCache {
  const clientOf = memoize<ClientInfo>((text) => {
    const info: unknown = JSON.parse(text)
    return { info, name: clientNameOf(info) }
  })
  const capabilitiesOf = memoize((text) => upstreamCapabilities(JSON.parse(text)))
  return {
    client(message) {
      const text = message.metaText(CLIENT_INFO)
      return text === undefined ? unknownClient : clientOf(text)
    },
    capabilities(message) {
      const text = message.metaText(CLIENT_CAPABILITIES)
      return text === undefined || text === '{}' ? '{}' : capabilitiesOf(text)
    }
  }
}
