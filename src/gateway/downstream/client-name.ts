import { isObject } from '../../domain/is-object.ts'
import { META } from '../../domain/protocol.ts'
import { escaped } from '../../domain/text.ts'
import type { Message } from './jsonrpc.ts'

const KEY = `${META}clientInfo`
/** It is kept for as long as a session is. */
const MAX = 100

/** How a client names itself in its `clientInfo`, undefined where it does not. One line that shows what it holds. */
export const nameIn = (clientInfo: unknown): string | undefined =>
  isObject(clientInfo) && typeof clientInfo.name === 'string' ? escaped(clientInfo.name, MAX) : undefined

/** What a request that belongs to no session says of its client: modern ones say it each time. */
export const clientInfoOf = (message: Message): unknown => message.meta(KEY)

export const clientName = (message: Message): string | undefined => nameIn(clientInfoOf(message))
