import { META } from '../../domain/mcp-constants.ts'
import { members, type Member } from '../../json/json.ts'
import { codes, isLonger, ProtocolError, type Message } from '../../protocol/jsonrpc.ts'

/** Factor for values that may contain whole documents, relative to the identifier limit. */
const DOCUMENT_FACTOR = 8

/** Limited members of `params`, with the factor applied to the identifier limit. */
const paramLimits: ReadonlyMap<string, number> = new Map([
  ...['name', 'uri', 'cursor', 'protocolVersion', 'level', 'requestId', 'progressToken', 'taskId', 'ref'].map(
    (key) => [key, 1] as const
  ),
  // stateless upstreams may keep all their state in `requestState`; `clientInfo` may contain icons
  ['requestState', DOCUMENT_FACTOR],
  ['clientInfo', DOCUMENT_FACTOR]
])

/** Limited members of `params._meta`. */
const metaLimits: ReadonlyMap<string, number> = new Map([
  ...['progressToken', 'traceparent', 'tracestate', 'baggage'].map((key) => [key, 1] as const),
  ...['protocolVersion', 'logLevel', 'subscriptionId', 'clientCapabilities'].map((key) => [META + key, 1] as const),
  [`${META}clientInfo`, DOCUMENT_FACTOR]
])

/** Members whose own keys are names: the answered input requests and the completed argument. */
const keyedMembers = new Set(['inputResponses', 'argument'])

/** HTTP status 200, as for other invalid params; a notification has no JSON-RPC response, so it gets 400. */
export const tooLong = ({ kind, id }: Message, what: string, bytes: number) =>
  new ProtocolError(codes.invalidParams, `Invalid params: ${what} is longer than ${bytes} bytes`, {
    id,
    status: kind === 'request' ? 200 : 400
  })

function checkValues(
  message: Message,
  found: readonly Member[],
  limited: ReadonlyMap<string, number>,
  maxBytes: number
): void {
  const { text } = message
  for (const { key, keyStart, start, end } of found) {
    // fast path: most values are short
    if ((end - keyStart) * 3 <= maxBytes) continue
    if (isLonger(text, keyStart, start, maxBytes + 4)) throw tooLong(message, 'the name of a member', maxBytes)
    const times = limited.get(key)
    if (times !== undefined && isLonger(text, start, end, times * maxBytes)) {
      throw tooLong(message, `"${key}"`, times * maxBytes)
    }
    if (keyedMembers.has(key) && text[start] === '{') checkKeys(message, members(text, start), maxBytes)
  }
}

function checkKeys(message: Message, found: readonly Member[], maxBytes: number): void {
  for (const { key, keyStart, start, end } of found) {
    const isTooLong = isLonger(message.text, keyStart, start, maxBytes + 4)
    if (isTooLong || (key === 'name' && isLonger(message.text, start, end, maxBytes))) {
      throw tooLong(message, 'a name', maxBytes)
    }
  }
}

/**
 * Rejects names, URIs, cursors and tokens that are too long, before they are looked up, stored, logged or forwarded.
 * `maxBytes` is measured on the JSON text. Throws ProtocolError -32602.
 */
export function checkLengths(message: Message, maxBytes: number): void {
  checkValues(message, message.paramMembers, paramLimits, maxBytes)
  if (message.hasMeta) checkValues(message, message.metaMembers, metaLimits, maxBytes)
}
