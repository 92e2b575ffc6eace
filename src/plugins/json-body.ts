import { isUtf8 } from 'node:buffer'
import fp from 'fastify-plugin'
import type { Config } from '../config.ts'
import { invalid } from '../errors.ts'
import { checkJson, JsonError, type JsonLimits } from '../gateway/json.ts'

/** Text of the bodies that are being worked on, by the value that was parsed from it. */
const texts = new WeakMap<object, string>()

/** The JSON text that a request body was parsed from: what must pass byte for byte is cut out of it. */
export function rawBody(body: object): string {
  const text = texts.get(body)
  if (text === undefined) throw new Error('not the body of a request')
  return text
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
 * Bodies are JSON or nothing. Depth and number of elements are counted before anything is built; `__proto__` and
 * `constructor.prototype` are refused; an empty body with a JSON type is no body, as `POST …/enable` is often sent.
 */
export default fp<{ limits: Config['limits'] }>(
  async (app, { limits: { jsonDepth: depth, jsonElements: elements } }) => {
    const parse = app.getDefaultJsonParser('error', 'error')
    app.removeAllContentTypeParsers()
    for (const type of ['application/json', /^application\/[\w.-]+\+json$/]) {
      app.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, (request, bytes, done) => {
        if (bytes.length === 0) return done(null, undefined)
        const text = readText(bytes, { depth, elements })
        void parse(request, text, (error, body: unknown) => {
          if (typeof body === 'object' && body !== null) texts.set(body, text)
          done(error, body)
        })
      })
    }
  },
  { name: 'json-body', dependencies: ['errors'] }
)
