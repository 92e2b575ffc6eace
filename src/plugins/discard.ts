import type { IncomingMessage } from 'node:http'

const MAX_BYTES = 64 * 1024 * 1024
const MAX_MS = 1_000

/**
 * Reads what is left of a body to nowhere, then goes on: at the latest after 64 MiB or one second. A connection that is
 * closed with input unread is reset, and the sender then never sees why it was refused.
 */
export function discardRest(request: IncomingMessage, next: () => void): void {
  if (request.complete || request.readableEnded || request.destroyed) return next()
  let received = 0
  const count = (chunk: Buffer) => {
    received += chunk.length
    if (received > MAX_BYTES) finish()
  }
  const finish = () => {
    clearTimeout(timer)
    request.off('data', count).off('end', finish).off('close', finish).off('error', finish)
    next()
  }
  const timer = setTimeout(finish, MAX_MS)
  request.on('data', count).on('end', finish).on('close', finish).on('error', finish).resume()
}
