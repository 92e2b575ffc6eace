import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { etagMatches } from '../../http/documents.ts'

/** Adds ETags to the responses of GET routes, so that polling pages get 304 if nothing changed. */
export function addETags(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const isView = request.method === 'GET' && reply.statusCode === 200 && typeof payload === 'string'
    if (!isView) return done(null, payload)
    const tag = `W/"${hash('sha1', payload, 'base64url')}"`
    void reply.header('etag', tag)
    if (!etagMatches(request.headers['if-none-match'], tag)) return done(null, payload)
    void reply.code(304).removeHeader('content-type')
    done(null, null)
  })
}
