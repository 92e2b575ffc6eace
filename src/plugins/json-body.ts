import { isUtf8 } from 'node:buffer'
import fp from 'fastify-plugin'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { AppError, invalid } from '../lib/errors.ts'
import { checkJson, JsonError, type JsonLimits } from '../json/json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** JSON text of the body; null without a body. */
    bodyText: string | null
  }
}

/**
 * Returns the 415 for a compressed body, which would look like malformed JSON; null if there is no Content-Encoding.
 */
export function refuseEncoding({ headers }: FastifyRequest): AppError | null {
  const encoding = headers['content-encoding']
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return null
  return new AppError(415, 'bodies with a Content-Encoding are not accepted')
}

/** Returns the JSON text of the body, from which members are forwarded byte for byte. */
export function bodyTextOf({ bodyText }: FastifyRequest): string {
  if (bodyText === null) throw new Error('a request without a body')
  return bodyText
}

function readText(bytes: Buffer, limits: JsonLimits): string {
  if (!isUtf8(bytes)) throw invalid('the body is not valid UTF-8')
  const text = bytes.toString('utf8')
  try {
    checkJson(text, limits)
  } catch (error) {
    if (error instanceof JsonError) throw invalid(`the body is not acceptable: ${error.message}`)
    throw error
  }
  return text
}

/**
 * Parses JSON bodies; no other type is accepted. Depth and number of elements are checked before parsing; `__proto__`
 * and `constructor.prototype` are refused; an empty body with a JSON type counts as no body, as clients often send
 * `POST …/enable`.
 */
export default fp<{ limits: Config['limits'] }>(
  async (app, { limits: { jsonDepth: depth, jsonElements: elements } }) => {
    const parse = app.getDefaultJsonParser('error', 'error')
    app.decorateRequest('bodyText', null)
    app.removeAllContentTypeParsers()
    for (const type of ['application/json', /^application\/[\w.-]+\+json$/]) {
      app.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, (request, bytes, done) => {
        const refused = refuseEncoding(request)
        if (refused) return done(refused)
        if (bytes.length === 0) return done(null, undefined)
        const text = readText(bytes, { depth, elements })
        request.bodyText = text
        void parse(request, text, done)
      })
    }
  },
  { name: 'json-body', dependencies: ['errors'] }
)
