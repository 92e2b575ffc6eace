import type { IncomingMessage } from 'node:http'
import { paceReads } from './paced-reads.ts'

const MAX_BYTES = 64 * 1024 * 1024
const MAX_MS = 1_000

/**
 * Reads and drops the rest of a body, at most 64 MiB or one second, then calls `next`. Closing a connection with unread
 * input resets it, and the sender would never see the error response.
 */
export function drainBody(request: IncomingMessage, next: () => void): void {
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
  paceReads(request)
  request.on('data', count).on('end', finish).on('close', finish).on('error', finish).resume()
}
