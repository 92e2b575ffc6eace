import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { errorCodes } from 'fastify'
import { BufferCollector, type BufferList, copySteps, totalLength } from '../../json/buffer-list.ts'
import type { TurnQueue } from '../../lib/turn-queue.ts'

/**
 * Collects the bytes of a request's body. Does what Fastify's own parser does with `parseAs`, without joining them.
 * Calls `done` once, with Fastify's errors: 413 for a body above `limit` bytes, 400 for one that is not as long as its
 * `content-length` or ends early.
 */
export function collectBody(
  { 'content-length': declared }: IncomingHttpHeaders,
  payload: Readable,
  limit: number,
  done: (error: Error | null, pieces: BufferList) => void
): void {
  const length = Number(declared)
  if (length > limit) return done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE(), [])
  const body = new BufferCollector()
  const finish = (error: Error | null) => {
    payload.off('data', add).off('end', end).off('error', fail)
    done(error, error ? [] : body.take())
  }
  const add = (chunk: Buffer) => {
    body.add(chunk)
    if (body.length > limit) finish(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
  }
  const end = () => {
    const isWhole = Number.isNaN(length) || body.length === length
    finish(isWhole ? null : new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH())
  }
  const fail = (error: Error & { statusCode?: number }) => {
    if (!(error.statusCode !== undefined && error.statusCode >= 400)) error.statusCode = 400
    finish(error)
  }
  payload.on('data', add).on('end', end).on('error', fail)
  payload.resume()
}

/** Joins the pieces of a large body into one buffer, one step in each turn of the queue. */
export async function joinInTurns(pieces: BufferList, turns: TurnQueue): Promise<Buffer> {
  await turns.next()
  if (pieces.length === 1) return pieces[0]!
  const whole = Buffer.allocUnsafe(totalLength(pieces))
  for (const _ of copySteps(pieces, whole)) await turns.next()
  return whole
}
