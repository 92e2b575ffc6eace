import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A document that is the same for every caller. Answers share its buffers, so that unread ones take no memory. */
export interface StaticDocument {
  readonly body: Buffer
  /** `body` as gzip; undefined where that saves nothing. */
  readonly zipped: Buffer | undefined
  readonly etag: string
  /** Headers of the document itself, its content type among them. */
  readonly headers: Readonly<Record<string, string>>
}

const zip = promisify(gzip)
/** Below it the headers outweigh what compression saves. */
const MIN_ZIPPED_BYTES = 1_024
const isText = (type: string) => /^text\/|[/+](?:javascript|json|xml|x-yaml)\b/.test(type)

/** Compresses and hashes a document once, for all answers. `headers` needs a `content-type`. */
export async function createDocument(
  body: Buffer,
  headers: Readonly<Record<string, string>> & { readonly 'content-type': string }
): Promise<StaticDocument> {
  const zipped = isText(headers['content-type']) && body.length >= MIN_ZIPPED_BYTES ? await zip(body) : undefined
  return { body, zipped, headers, etag: `W/"${hash('sha1', body, 'base64url')}"` }
}

/** True if `If-None-Match` names this entity tag or any. */
export const isAsked = (header: string | undefined, tag: string): boolean =>
  header?.split(',').some((each) => each.trim() === tag || each.trim() === '*') ?? false

const takesGzip = (header: string | string[] | undefined) =>
  /(?:^|[,\s])gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(String(header ?? ''))

/** Answers with a document, or with 304 to a caller that has it. */
export function sendDocument({ headers: asked }: FastifyRequest, reply: FastifyReply, document: StaticDocument) {
  const { body, zipped, etag, headers } = document
  // CORS headers depend on the origin
  void reply.headers(headers).header('etag', etag).header('vary', 'Accept-Encoding, Origin')
  if (isAsked(asked['if-none-match'], etag)) return reply.code(304).removeHeader('content-type').send()
  if (!zipped || !takesGzip(asked['accept-encoding'])) return reply.send(body)
  return reply.header('content-encoding', 'gzip').send(zipped)
}
