import { META } from '../../domain/protocol.ts'
import { members, type Member } from '../json.ts'
import { codes, isLonger, ProtocolError, type Message } from './jsonrpc.ts'

/** Values that whole documents may stand in get this many times the limit of an identifier. */
const DOCUMENT_FACTOR = 8

/** Members of `params` that name something, and how many times the limit each may take. */
const paramLimits: ReadonlyMap<string, number> = new Map([
  ...['name', 'uri', 'cursor', 'protocolVersion', 'level', 'requestId', 'progressToken', 'taskId', 'ref'].map(
    (key) => [key, 1] as const
  ),
  // an upstream without sessions may seal all that it knows in its state; icons may stand in a clientInfo
  ['requestState', DOCUMENT_FACTOR],
  ['clientInfo', DOCUMENT_FACTOR]
])

/** The same of `params._meta`. */
const metaLimits: ReadonlyMap<string, number> = new Map([
  ...['progressToken', 'traceparent', 'tracestate', 'baggage'].map((key) => [key, 1] as const),
  ...['protocolVersion', 'logLevel', 'subscriptionId', 'clientCapabilities'].map((key) => [META + key, 1] as const),
  [`${META}clientInfo`, DOCUMENT_FACTOR]
])

/** Members whose own keys are names: of the questions that are answered, and of the argument that is completed. */
const keyedMembers = new Set(['inputResponses', 'argument'])

/** HTTP 200, as other invalid params; a notification cannot be answered otherwise than by HTTP. */
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
    // most values are short: nothing is looked up for them
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
 * Refuses names, URIs, cursors, tokens and the like that are too long, before any of them is looked up, kept, logged or
 * sent on. `maxBytes`: as written in JSON. Throws ProtocolError -32602.
 */
export function checkLengths(message: Message, maxBytes: number): void {
  checkValues(message, message.paramMembers, paramLimits, maxBytes)
  if (message.hasMeta) checkValues(message, message.metaMembers, metaLimits, maxBytes)
}
