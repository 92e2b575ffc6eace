import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream'
import fp from 'fastify-plugin'
import type { FastifyRequest } from 'fastify'
import { principalIdOf } from '../catalog/caller.ts'
import type { Config } from '../config/config.ts'
import { networkOf } from '../domain/network/client-address.ts'
import { paceReads } from '../http/paced-reads.ts'
import { unavailable } from '../lib/errors.ts'
import { createQuotas, type Quota } from '../lib/quota.ts'

/** Bodies of fewer bytes are not counted: connections are bounded in number. */
const MIN_COUNTED_BYTES = 4_096

const refusal = () => unavailable('too many request bodies are being received at the moment; try again later')

/** Counts a body of unknown length while it arrives; beyond the quota the request fails. */
function countChunks(body: IncomingMessage, key: string, quota: Quota): void {
  let held = 0
  const count = ({ length }: Buffer) => {
    if (quota.acquire(key, length)) held += length
    else body.off('data', count).emit('error', refusal())
  }
  body.on('data', count)
  finished(body, { writable: false }, () => quota.release(key, held))
}

/**
 * Bounds the bodies that are being received: a client can send the most part of many, and hold them until the time limit
 * of a request. A body of known length is counted before its first byte. What is counted is read in portions.
 */
export default fp<Pick<Config, 'mode'> & { readonly limits: Pick<Config['limits'], 'callBytes'> }>(
  async (app, { mode, limits }) => {
    const quota = createQuotas(mode).forBytes(limits.callBytes)
    const keyOf = ({ caller, address }: FastifyRequest) =>
      caller ? principalIdOf(caller.key) : `address ${networkOf(address)}`
    app.addHook('preParsing', (request, _reply, payload, done) => {
      const { raw } = request
      if (raw.headers['transfer-encoding'] !== undefined) {
        // the body is read in this turn of the event loop, so no chunk is missed
        countChunks(raw, keyOf(request), quota)
        paceReads(raw)
        return done(null, payload)
      }
      const length = Number(raw.headers['content-length'] ?? 0)
      if (length < MIN_COUNTED_BYTES || raw.complete) return done(null, payload)
      const key = keyOf(request)
      if (!quota.acquire(key, length)) return done(refusal())
      finished(raw, { writable: false }, () => quota.release(key, length))
      paceReads(raw)
      done(null, payload)
    })
  },
  { name: 'body-bytes', dependencies: ['auth'] }
)
