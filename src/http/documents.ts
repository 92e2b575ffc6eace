import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

type ContentCoding = 'br' | 'gzip'

/**
 * A document that is identical for every caller. Responses share its buffers, so that unread ones use no extra memory.
 */
export interface StaticDocument {
  readonly body: Buffer
  /** `body` in the content codings that make it smaller. */
  readonly encodings: Readonly<Partial<Record<ContentCoding, Buffer>>>
  /** Entity tag of `body`; each coding has its own. */
  readonly etag: string
  /** Headers of the document, including its content type. */
  readonly headers: Readonly<Record<string, string>>
}

const zip = promisify(gzip)
const brotli = promisify(brotliCompress)
/** The maximum quality takes seconds of CPU for the script of `/docs`; 8 compresses nearly as well. */
const params = { [constants.BROTLI_PARAM_QUALITY]: 8 }
/** Smaller bodies gain nothing from compression. */
const MIN_CODED_BYTES = 1_024
/** Larger bodies are sent uncompressed, because compressed copies stay in memory. */
const MAX_CODED_BYTES = 8 * 1024 * 1024
const isText = (type: string) => /^text\/|[/+](?:javascript|json|xml|x-yaml)\b/.test(type)

/** Compresses and hashes a document once, for all responses. `headers` needs a `content-type`. */
export async function createDocument(
  body: Buffer,
  headers: Readonly<Record<string, string>> & { readonly 'content-type': string }
): Promise<StaticDocument> {
  const etag = `W/"${hash('sha1', body, 'base64url')}"`
  const isCompressible =
    isText(headers['content-type']) && body.length >= MIN_CODED_BYTES && body.length <= MAX_CODED_BYTES
  if (!isCompressible) return { body, encodings: {}, headers, etag }
  const [br, zipped] = await Promise.all([brotli(body, { params }), zip(body)])
  return { body, encodings: { br, gzip: zipped }, headers, etag }
}

/** True if `If-None-Match` lists the entity tag or `*`. */
export const etagMatches = (header: string | undefined, tag: string): boolean =>
  header?.split(',').some((each) => each.trim() === tag || each.trim() === '*') ?? false

/** True if `Accept-Encoding` lists the coding with a non-zero weight. */
const acceptsCoding = (coding: ContentCoding, header: string | string[] | undefined) =>
  new RegExp(`(?:^|[,\\s])${coding}\\s*(?:$|,|;(?!\\s*q=0(?:\\.0*)?\\s*(?:$|,)))`, 'i').test(String(header ?? ''))

/** Returns the entity tag of a coding: caches must not mix codings. */
const codedEtag = (etag: string, coding: ContentCoding | undefined) =>
  coding ? `${etag.slice(0, -1)}-${coding}"` : etag

/** Sends a document, or 304 if the caller already has it. */
export function sendDocument(
  { headers: requestHeaders }: FastifyRequest,
  reply: FastifyReply,
  document: StaticDocument
) {
  const { body, encodings, headers } = document
  const coding = (['br', 'gzip'] as const).find(
    (one) => encodings[one] && acceptsCoding(one, requestHeaders['accept-encoding'])
  )
  const etag = codedEtag(document.etag, coding)
  // CORS headers depend on the origin
  void reply.headers(headers).header('etag', etag).header('vary', 'Accept-Encoding, Origin')
  if (etagMatches(requestHeaders['if-none-match'], etag)) return reply.code(304).removeHeader('content-type').send()
  if (!coding) return reply.send(body)
  return reply.header('content-encoding', coding).send(encodings[coding])
}
