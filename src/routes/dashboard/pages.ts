import { realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import staticFiles from '@fastify/static'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { message } from './message-page.ts'

const config = { access: 'public' } as const

/** As on the security page, with media for audio results and Trusted Types (design of the dashboard, 3.8). */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' data: blob:; " +
  "font-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'"

const YEAR_MS = 31_536_000_000

/** Plain names alone: whatever could lead elsewhere is no file of ours. */
const isPlain = (path: string) => /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(path)

/** Whether a regular file lies there itself: links are not followed. */
function isFile(root: string, path: string): boolean {
  if (!isPlain(path)) return false
  const file = join(root, path)
  try {
    return statSync(file).isFile() && realpathSync(file) === join(realpathSync(root), path)
  } catch {
    return false
  }
}

const notBuilt = (reply: FastifyReply) =>
  message(
    reply,
    'The dashboard is not built',
    'The gateway works without it. Run "npm run build" in the folder of the sources, then load this page again.'
  )

/** `/`, `/index.html` and `/assets/*`: the built pages, as they lie in `root`. */
export const pages: FastifyPluginAsync<{ root: string }> = async (app, { root }) => {
  await app.register(staticFiles, {
    root,
    serve: false,
    suppressWarning: true,
    etag: true,
    dotfiles: 'ignore'
  } as never)
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.header('content-security-policy', policy).header('cross-origin-opener-policy', 'same-origin')
    done()
  })

  for (const url of ['/', '/index.html']) {
    app.get(url, { config }, (_request, reply) => {
      if (!isFile(root, 'index.html')) return notBuilt(reply)
      return reply.header('cache-control', 'no-cache').sendFile('index.html', { cacheControl: false })
    })
  }
  app.get<{ Params: { '*': string } }>('/assets/*', { config }, (request, reply) => {
    const path = `assets/${request.params['*']}`
    if (!isFile(root, path)) return reply.callNotFound()
    return reply.sendFile(path, { maxAge: YEAR_MS, immutable: true })
  })
}
