import { checkJson, elements } from '../../json/json.ts'
import { concatBuffers, totalLength } from '../../json/buffer-list.ts'
import { classify, LAST_BATCH_VERSION } from '../messages/era.ts'
import type { Heartbeat } from '../sessions/heartbeat.ts'
import {
  codes,
  ProtocolError,
  readMessage,
  parseStructure,
  type Message,
  type MessageLimits
} from '../../protocol/jsonrpc.ts'
import { errorText } from '../../protocol/jsonrpc-text.ts'
import type { HttpReply } from '../sessions/reply.ts'
import { ChannelWriter, type Channel, type ChannelAnswer } from '../sessions/response-writer.ts'

/** Limits of what a client may send. */
export interface InboundLimits extends MessageLimits {
  /** Limit of the length of names, URIs and the like. */
  readonly identifierBytes: number
  /** Limit of messages in one batch. */
  readonly maxBatch: number
}

const refuse = (reason: string) => new ProtocolError(codes.invalidRequest, `Invalid Request: ${reason}`)

const isLegacy = (message: Message): boolean => {
  try {
    return classify({}, message) === 'legacy'
  } catch {
    return false
  }
}

function readElement(text: string, limits: MessageLimits): Message {
  let message: Message
  try {
    message = readMessage(text, limits)
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code === codes.parse) throw error
    throw refuse('an element of the batch is not a JSON-RPC message')
  }
  if (!isLegacy(message)) throw refuse('batches are not part of the protocol revision of an element')
  if (message.method === 'initialize') throw refuse('"initialize" must not be part of a batch')
  return message
}

/**
 * Parses the messages of a JSON array (mcp-proxy.md#batches). `version` is the negotiated revision or the one in the
 * header. Throws ProtocolError for the batch as a whole.
 */
export function readBatch(text: string, version: string | undefined, limits: InboundLimits): Message[] {
  const { depth, maxBatch } = limits
  parseStructure(() => checkJson(text, limits), { depth })
  if (version !== undefined && version > LAST_BATCH_VERSION) {
    throw refuse('batches are not part of this protocol revision')
  }
  const entries = elements(text)
  if (entries.length === 0) throw refuse('the batch is empty')
  if (entries.length > maxBatch) throw refuse(`the batch has more than ${maxBatch} messages`)
  const inner = { ...limits, depth: depth - 1 }
  return entries.map(({ start, end }) => readElement(text.slice(start, end), inner))
}

const [bracket, comma, end] = ['[', ',', ']'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]

const tooLongError = (id: string) =>
  Buffer.from(errorText(id, codes.internal, 'the responses of the batch are too large in total'))

/** Joins the responses without copying: a list page requested a hundred times is in memory once. */
const asArray = (answers: readonly ChannelAnswer[]): Buffer[] => [
  bracket,
  ...answers.flatMap(({ pieces }, i) => (i === 0 ? pieces : [comma, ...pieces])),
  end
]

/**
 * Returns a response writer for each message, in order. The responses are sent as one JSON array, or as one event each
 * if a message must be sent before all are complete. A response that exceeds the batch limit is replaced by an error.
 */
export function openBatch(
  messages: readonly Message[],
  reply: HttpReply,
  { heartbeat, maxBatchBytes }: { readonly heartbeat: Heartbeat; readonly maxBatchBytes: number }
): ChannelWriter[] {
  const answers: ChannelAnswer[] = []
  let size = 0
  let ownBytes = 0
  let open = messages.length
  const buffer = (answer: ChannelAnswer, id: string) => {
    const length = totalLength(answer.pieces)
    const hasRoom = reply.isStream || size + length <= maxBatchBytes
    const stored = hasRoom ? answer : { pieces: [tooLongError(id)] }
    size += totalLength(stored.pieces) + 1
    answers.push(stored)
    if (reply.isStream) return
    const { shared } = stored
    if (shared) reply.trackShared(shared)
    ownBytes += totalLength(stored.pieces) - (shared?.length ?? 0)
    reply.trackUnsent(ownBytes)
  }
  const flush = () => {
    reply.openStream()
    for (const { pieces } of answers.splice(0)) reply.sendMessage(concatBuffers(pieces).toString())
  }
  const finish = () => {
    if (reply.isStream) return reply.close()
    if (answers.length > 0) return reply.sendPieces(asArray(answers))
    if (messages.every(({ kind }) => kind !== 'request')) return reply.sendEmpty(202)
    // every call was cancelled, so there is no response to send
    flush()
    reply.close()
  }
  const channel: Channel = {
    sendMessage(text) {
      flush()
      reply.sendMessage(text)
    },
    finish(writer, answer) {
      heartbeat.delete(writer)
      if (answer) buffer(answer, writer.id)
      if (reply.isStream) flush()
      if (--open === 0) finish()
    }
  }
  const writers = messages.map(({ id }) => new ChannelWriter(channel, id))
  reply.onAbort = () => {
    for (const writer of writers) {
      heartbeat.delete(writer)
      writer.abort()
    }
  }
  heartbeat.add(reply)
  return writers
}
