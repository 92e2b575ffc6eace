import { realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import staticFiles from '@fastify/static'
import Fastify, { type FastifyPluginAsync, type FastifyReply, type FastifyRequest } from 'fastify'
import { createDocument, sendDocument, type StaticDocument } from '../../http/documents.ts'
import { sendMessagePage } from '../../http/page.ts'

const config = { access: 'public' } as const

/** Content security policy: no inline scripts, media for audio results, Trusted Types (dashboard.md#untrusted-text). */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' data: blob:; " +
  "font-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'"

const YEAR_S = 31_536_000

/** Accepts plain relative paths only, so that no request can leave the folder. */
const isPlainPath = (path: string) => /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(path)

/**
 * Returns size and modification time of a regular file; undefined if there is none. Symbolic links are not followed.
 */
function fileVersionOf(root: string, path: string): string | undefined {
  if (!isPlainPath(path)) return undefined
  const file = join(root, path)
  try {
    const stats = statSync(file)
    const isOwn = stats.isFile() && realpathSync(file) === join(realpathSync(root), path)
    return isOwn ? `${stats.size} ${stats.mtimeMs}` : undefined
  } catch {
    return undefined
  }
}

type FindFile = (path: string, cacheControl: string) => Promise<StaticDocument> | undefined

/**
 * Creates a lookup of files in a folder, each read once and again after it changed. `@fastify/static` serves them from
 * an internal instance that does not listen: on the public one, a client that reads slowly would keep a file open.
 */
async function createFiles(root: string): Promise<FindFile & { close(): Promise<void> }> {
  const reader = Fastify()
  await reader.register(staticFiles, { root, cacheControl: false, suppressWarning: true })
  const read = async (path: string, cacheControl: string): Promise<StaticDocument> => {
    const { statusCode, headers, rawPayload } = await reader.inject(`/${path}`)
    if (statusCode !== 200) throw new Error(`the file of the dashboard cannot be read: ${statusCode}`)
    return createDocument(rawPayload, {
      'content-type': String(headers['content-type']),
      'cache-control': cacheControl
    })
  }
  const files = new Map<string, { readonly stamp: string; readonly document: Promise<StaticDocument> }>()
  const find: FindFile = (path, cacheControl) => {
    const stamp = fileVersionOf(root, path)
    const known = files.get(path)
    if (known && known.stamp === stamp) return known.document
    files.delete(path)
    if (stamp === undefined) return undefined
    const document = read(path, cacheControl)
    // retried on the next request after a read error
    document.catch(() => files.delete(path))
    files.set(path, { stamp, document })
    return document
  }
  return Object.assign(find, { close: () => reader.close().then(() => {}) })
}

const notBuilt = (reply: FastifyReply) =>
  sendMessagePage(
    reply,
    'The dashboard is not built',
    'The gateway works without it. Run "npm run build" in the folder of the sources, then load this page again.'
  )

export interface PagesOptions {
  /** Folder of the built pages. */
  readonly root: string
  /** Paths of the first page. */
  readonly index: readonly string[]
}

/** Routes of the built pages: the first one and `/assets/*`. */
export const pages: FastifyPluginAsync<PagesOptions> = async (app, { root, index }) => {
  const find = await createFiles(root)
  app.addHook('onClose', () => find.close())
  const send = async (request: FastifyRequest, reply: FastifyReply, document: Promise<StaticDocument>) =>
    sendDocument(request, reply, await document)
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.header('content-security-policy', policy).header('cross-origin-opener-policy', 'same-origin')
    done()
  })

  for (const url of index) {
    app.get(url, { config, prefixTrailingSlash: 'slash' }, (request, reply) => {
      const document = find('index.html', 'no-cache')
      return document ? send(request, reply, document) : notBuilt(reply)
    })
  }
  app.get<{ Params: { '*': string } }>('/assets/*', { config }, (request, reply) => {
    const document = find(`assets/${request.params['*']}`, `public, max-age=${YEAR_S}, immutable`)
    return document ? send(request, reply, document) : reply.callNotFound()
  })
}
