import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { calls } from '../calls.ts'
import { createPathTo } from '../identity/sign-in-page.ts'
import { diagnostics } from './diagnostics.ts'
import { addETags } from './etag.ts'
import { events } from './events.ts'
import { imports } from './import.ts'
import { items } from './items.ts'
import { oauth } from './oauth.ts'
import { overview } from './overview.ts'
import { pages } from './pages.ts'
import { servers } from './servers.ts'
import { session } from './session.ts'
import { toolGroups } from './tool-groups.ts'

export interface DashboardOptions {
  /** Base URL shown on the pages; undefined: derived from the request. */
  readonly publicUrl: string | undefined
  /** Folder of the built pages. */
  readonly root: string
  /** Settings shown by Diagnostics. */
  readonly config: Config
}

/** Routes of the data of the pages; each declares who may use it, and its handlers take the caller. */
const data: FastifyPluginAsync<Omit<DashboardOptions, 'root'> & { readonly mount: string }> = async (app, options) => {
  const { publicUrl, config, mount } = options
  addETags(app)
  if (app.learnActivity) app.addHook('preHandler', app.learnActivity)
  for (const routes of [items, events, calls]) await app.register(routes)
  for (const routes of [servers, imports]) await app.register(routes, { publicUrl, mount })
  for (const routes of [toolGroups, oauth]) await app.register(routes, { publicUrl })
  await app.register(overview, { publicUrl, config })
  await app.register(diagnostics, { config })
}

const addData = (app: Parameters<typeof dashboard>[0], mount: string, options: Omit<DashboardOptions, 'root'>) =>
  app.register(data, { ...options, prefix: mount, mount })

/** Keeps the routes of the pages out of the OpenAPI document. */
const hideRoutes = (app: Parameters<typeof dashboard>[0]): void =>
  void app.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, hide: true }
  })

/** The dashboard of development mode and its API (http-contract.md#dashboard-routes). */
export const dashboard: FastifyPluginAsync<DashboardOptions> = async (app, { root, ...options }) => {
  hideRoutes(app)
  await app.register(pages, { root, index: ['/', '/index.html'] })
  await addData(app, '/api/dashboard', options)
}

/** Path of the console's pages. */
export const CONSOLE = '/console/'

const acceptsPages = ({ headers }: FastifyRequest) => headers.accept?.includes('text/html') === true

/** The console of enterprise mode: the pages of the dashboard for people who sign in, with more of them. */
export const console: FastifyPluginAsync<DashboardOptions> = async (app, { root, ...options }) => {
  hideRoutes(app)
  const config = { access: 'public' } as const
  const path = createPathTo(options.publicUrl!)(CONSOLE)
  const toConsole = (_request: FastifyRequest, reply: FastifyReply) => reply.redirect(path, 303)
  // programs get the 404 of every other unknown path (http-contract.md#dashboard-routes)
  app.get('/', { config }, (request, reply) =>
    acceptsPages(request) ? toConsole(request, reply) : reply.callNotFound()
  )
  app.get('/console', { config }, toConsole)
  await app.register(pages, { root, index: ['/'], prefix: '/console' })
  await addData(app, '/api/console', options)
  await app.register(session, {
    ...{ prefix: '/api/console', publicUrl: options.publicUrl!, auth: options.config.auth },
    stdio: options.config.stdio
  })
}
