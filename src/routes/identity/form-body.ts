import type { FastifyInstance } from 'fastify'

const MAX_BYTES = 16_384

/** Parses forms (`application/x-www-form-urlencoded`) in this scope; the last of repeated fields counts. */
export function parseForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_BYTES },
    (_request, body, done) => {
      done(null, Object.fromEntries(new URLSearchParams(body as string)))
    }
  )
}
