import { realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import staticFiles from '@fastify/static'
import Fastify, { type FastifyPluginAsync, type FastifyReply, type FastifyRequest } from 'fastify'
import { createDocument, sendDocument, type StaticDocument } from '../../plugins/documents.ts'
import { message } from './message-page.ts'

const config = { access: 'public' } as const

/** A policy without inline scripts, with media for audio results and Trusted Types (dashboard.md#untrusted-text). */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' data: blob:; " +
  "font-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'"

const YEAR_S = 31_536_000

/** Plain names alone: whatever could lead elsewhere is no file of ours. */
const isPlain = (path: string) => /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(path)

/** Size and time of a regular file; undefined where there is none. Links are not followed. */
function stampOf(root: string, path: string): string | undefined {
  if (!isPlain(path)) return undefined
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
 * The files of a folder, each read once and again after a new build. `@fastify/static` reads them on an instance of its
 * own that listens nowhere: on the public one it would hold a file open for each answer that a client does not read.
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
    const stamp = stampOf(root, path)
    const known = files.get(path)
    if (known && known.stamp === stamp) return known.document
    files.delete(path)
    if (stamp === undefined) return undefined
    const document = read(path, cacheControl)
    // a file that cannot be read is tried again at the next request
    document.catch(() => files.delete(path))
    files.set(path, { stamp, document })
    return document
  }
  return Object.assign(find, { close: () => reader.close().then(() => {}) })
}

const notBuilt = (reply: FastifyReply) =>
  message(
    reply,
    'The dashboard is not built',
    'The gateway works without it. Run "npm run build" in the folder of the sources, then load this page again.'
  )

/** `/`, `/index.html` and `/assets/*`: the built pages, as they lie in `root`. */
export const pages: FastifyPluginAsync<{ root: string }> = async (app, { root }) => {
  const find = await createFiles(root)
  app.addHook('onClose', () => find.close())
  const send = async (request: FastifyRequest, reply: FastifyReply, document: Promise<StaticDocument>) =>
    sendDocument(request, reply, await document)
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.header('content-security-policy', policy).header('cross-origin-opener-policy', 'same-origin')
    done()
  })

  for (const url of ['/', '/index.html']) {
    app.get(url, { config }, (request, reply) => {
      const document = find('index.html', 'no-cache')
      return document ? send(request, reply, document) : notBuilt(reply)
    })
  }
  app.get<{ Params: { '*': string } }>('/assets/*', { config }, (request, reply) => {
    const document = find(`assets/${request.params['*']}`, `public, max-age=${YEAR_S}, immutable`)
    return document ? send(request, reply, document) : reply.callNotFound()
  })
}
