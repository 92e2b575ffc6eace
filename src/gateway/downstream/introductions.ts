import { isObject } from '../../domain/is-object.ts'
import { META } from '../../domain/protocol.ts'
import { escaped } from '../../domain/text.ts'
import { memoize } from '../memo.ts'
import { declaredUpstream } from './capabilities.ts'
import type { Message } from './jsonrpc.ts'

const CLIENT_INFO = `${META}clientInfo`
export const CLIENT_CAPABILITIES = `${META}clientCapabilities`

/** It is kept for as long as a session is. */
const MAX = 100

/** How a client names itself in its `clientInfo`, undefined where it does not. One line that shows what it holds. */
export const nameIn = (clientInfo: unknown): string | undefined =>
  isObject(clientInfo) && typeof clientInfo.name === 'string' ? escaped(clientInfo.name, MAX) : undefined

/** A client as it introduces itself. */
export interface Introduced {
  readonly info: unknown
  readonly name: string | undefined
}

/**
 * What clients say of themselves with each request that belongs to no session: modern ones do
 * (mcp-proxy.md#modern-wire).
 */
export interface Introductions {
  client(message: Message): Introduced
  /** JSON text of its capabilities as they go upstream. */
  capabilities(message: Message): string
}

const nobody: Introduced = { info: undefined, name: undefined }

export function createIntroductions(): Introductions {
  const clientOf = memoize<Introduced>((text) => {
    const info: unknown = JSON.parse(text)
    return { info, name: nameIn(info) }
  })
  const capabilitiesOf = memoize((text) => declaredUpstream(JSON.parse(text)))
  return {
    client(message) {
      const text = message.metaText(CLIENT_INFO)
      return text === undefined ? nobody : clientOf(text)
    },
    capabilities(message) {
      const text = message.metaText(CLIENT_CAPABILITIES)
      return text === undefined || text === '{}' ? '{}' : capabilitiesOf(text)
    }
  }
}
