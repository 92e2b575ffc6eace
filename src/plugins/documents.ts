import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

type Coding = 'br' | 'gzip'

/** A document that is the same for every caller. Answers share its buffers, so that unread ones take no memory. */
export interface StaticDocument {
  readonly body: Buffer
  /** `body` in the codings that save something. */
  readonly coded: Readonly<Partial<Record<Coding, Buffer>>>
  /** Of `body`; compressed it has another. */
  readonly etag: string
  /** Headers of the document itself, its content type among them. */
  readonly headers: Readonly<Record<string, string>>
}

const zip = promisify(gzip)
const brotli = promisify(brotliCompress)
/** The best quality takes seconds of CPU for the script of `/docs`; this one saves nearly as much. */
const params = { [constants.BROTLI_PARAM_QUALITY]: 8 }
/** Below it the headers outweigh what compression saves. */
const MIN_CODED_BYTES = 1_024
/** Larger ones go out as they are: compressed copies are kept. */
const MAX_CODED_BYTES = 8 * 1024 * 1024
const isText = (type: string) => /^text\/|[/+](?:javascript|json|xml|x-yaml)\b/.test(type)

/** Compresses and hashes a document once, for all answers. `headers` needs a `content-type`. */
export async function createDocument(
  body: Buffer,
  headers: Readonly<Record<string, string>> & { readonly 'content-type': string }
): Promise<StaticDocument> {
  const etag = `W/"${hash('sha1', body, 'base64url')}"`
  const isCoded = isText(headers['content-type']) && body.length >= MIN_CODED_BYTES && body.length <= MAX_CODED_BYTES
  if (!isCoded) return { body, coded: {}, headers, etag }
  const [br, zipped] = await Promise.all([brotli(body, { params }), zip(body)])
  return { body, coded: { br, gzip: zipped }, headers, etag }
}

/** True if `If-None-Match` names this entity tag or any. */
export const isAsked = (header: string | undefined, tag: string): boolean =>
  header?.split(',').some((each) => each.trim() === tag || each.trim() === '*') ?? false

/** Whether `Accept-Encoding` names the coding, and does not refuse it. */
const takes = (coding: Coding, header: string | string[] | undefined) =>
  new RegExp(`(?:^|[,\\s])${coding}\\s*(?:$|,|;(?!\\s*q=0(?:\\.0*)?\\s*(?:$|,)))`, 'i').test(String(header ?? ''))

/** The entity tag of a coding: caches must not mix them. */
const tagOf = (etag: string, coding: Coding | undefined) => (coding ? `${etag.slice(0, -1)}-${coding}"` : etag)

/** Answers with a document, or with 304 to a caller that has it. */
export function sendDocument({ headers: asked }: FastifyRequest, reply: FastifyReply, document: StaticDocument) {
  const { body, coded, headers } = document
  const coding = (['br', 'gzip'] as const).find((one) => coded[one] && takes(one, asked['accept-encoding']))
  const etag = tagOf(document.etag, coding)
  // CORS headers depend on the origin
  void reply.headers(headers).header('etag', etag).header('vary', 'Accept-Encoding, Origin')
  if (isAsked(asked['if-none-match'], etag)) return reply.code(304).removeHeader('content-type').send()
  if (!coding) return reply.send(body)
  return reply.header('content-encoding', coding).send(coded[coding])
}
