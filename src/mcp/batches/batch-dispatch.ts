import { createTimeSlice, type TimeSlice } from '../../lib/time-slice.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import type { Message } from '../../protocol/jsonrpc.ts'
import type { ChannelWriter } from '../sessions/response-writer.ts'
import type { Session } from '../sessions/client-sessions.ts'

/**
 * Dispatches the messages of a batch in order, in slices of time: a hundred lists of thousands of tools take long.
 * `writers` has one writer per message. `dispatch` must not throw.
 */
export async function dispatchBatchMessages(
  messages: readonly Message[],
  writers: readonly ChannelWriter[],
  session: Session | undefined,
  dispatch: (message: Message, writer: ChannelWriter) => void,
  slice: TimeSlice = createTimeSlice()
): Promise<void> {
  const queued = session && (session.queuedRequests ??= new Set())
  for (const [i, { kind }] of messages.entries()) if (kind === 'request') queued?.add(writers[i]!)
  for (const [i, message] of messages.entries()) {
    const writer = writers[i]!
    if (slice.isOver) await slice.next()
    queued?.delete(writer)
    // the client may have cancelled the request, disconnected or lost its token; its notifications and responses count
    if (writer.isEnded && message.kind === 'request') continue
    dispatch(message, writer)
  }
}

/** Cancels the client's request with this id (JSON text), also if it waits in a batch. Unknown ids are ignored. */
export function cancelRequest({ calls, queuedRequests }: Session, requestId: string): void {
  for (const writer of queuedRequests ?? []) if (writer.id === requestId) writer.close()
  for (const { id, call } of calls) {
    if (id === requestId) call.stop(new UpstreamFailure('cancelled', 'the caller cancelled the call'))
  }
}
