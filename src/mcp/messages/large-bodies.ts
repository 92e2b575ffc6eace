import { MIN_SLICED_BYTES } from '../../lib/time-slice.ts'
import { createTurnQueue } from '../../lib/turn-queue.ts'

/** Queue of all large bodies of the process, whatever the transport. */
const steps = createTurnQueue()

/** True if a body is decoded, parsed and dispatched in turns of their own: each takes milliseconds for a megabyte. */
export const isLargeBody = ({ length }: Buffer): boolean => length >= MIN_SLICED_BYTES

/** Resolves when the next step of a large body may begin. The client may have disconnected meanwhile. */
export const nextStep = (): Promise<void> => steps.next()
