import { textSteps } from '../../json/text.ts'
import { MIN_SLICED_BYTES } from '../../lib/time-slice.ts'
import { createTurnQueue } from '../../lib/turn-queue.ts'
import { decode, type MessageLimits, parseStructure } from '../../protocol/jsonrpc.ts'

/** Queue of all large bodies of the process, whatever the transport. */
const steps = createTurnQueue()

/** True if a body is decoded, parsed and dispatched in turns of their own: each takes milliseconds for a megabyte. */
export const isLargeBody = ({ length }: Buffer): boolean => length >= MIN_SLICED_BYTES

/** Resolves when the next step of a large body may begin. The client may have disconnected meanwhile. */
export const nextStep = (): Promise<void> => steps.next()

/**
 * Decodes a large body and checks its characters, in steps: to check each of them while the text is parsed would take
 * milliseconds more at once. Returns the limits for parsing the text. Repairs escapes in `body`, which is useless after
 * that. Throws ProtocolError.
 */
export async function decodeInSteps<T extends MessageLimits>(body: Buffer, limits: T): Promise<[text: string, T]> {
  const text = decode(body)
  const checks = textSteps(body)
  const check = () => parseStructure(() => checks.next())
  do await nextStep()
  while (!check().done)
  await nextStep()
  return [text, { ...limits, checksStrings: 'spaces' }]
}
