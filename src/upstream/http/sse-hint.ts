import type { TransportClient } from '../transport/connection.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'

/** Statuses with which servers of the older transport answer a POST to the URL of their event stream. */
const wrongTransport = new Set<number | undefined>([404, 405])
const MAX_MS = 5_000

/**
 * Extends the failure of a server that was tried over Streamable HTTP if the server answers over HTTP+SSE, the fallback
 * that the specification advises. `createSse` creates a client of that transport for the same URL.
 */
export async function withSseHint(
  failure: UpstreamFailure,
  createSse: () => TransportClient,
  deadline: number
): Promise<UpstreamFailure> {
  if (!wrongTransport.has(failure.status)) return failure
  const client = createSse()
  try {
    const end = Math.min(deadline, performance.now() + MAX_MS)
    const connection = await client.open({ era: 'legacy', capabilities: '{}', deadline: end })
    connection.close()
  } catch {
    return failure
  } finally {
    client.close()
  }
  const { reason, message, status, maybeProcessed, cause } = failure
  const text = `${message}; it answers over HTTP+SSE: register it with the transport "sse"`
  return new UpstreamFailure(reason, text, {
    ...(status === undefined ? {} : { status }),
    maybeProcessed,
    cause,
    code: 'sse'
  })
}
