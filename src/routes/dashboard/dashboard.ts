import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../../config/config.ts'
import { calls } from '../calls.ts'
import { diagnostics } from './diagnostics.ts'
import { addETags } from './etag.ts'
import { events } from './events.ts'
import { imports } from './import.ts'
import { items } from './items.ts'
import { oauth } from './oauth.ts'
import { overview } from './overview.ts'
import { pages } from './pages.ts'
import { servers } from './servers.ts'
import { toolGroups } from './tool-groups.ts'

export interface DashboardOptions {
  /** Base URL shown on the pages; undefined: derived from the request. */
  readonly publicUrl: string | undefined
  /** Folder of the built pages. */
  readonly root: string
  /** Settings shown by Diagnostics. */
  readonly config: Config
}

/**
 * The dashboard of development mode and its API (http-contract.md#dashboard-routes), which is not part of the OpenAPI
 * document.
 */
export const dashboard: FastifyPluginAsync<DashboardOptions> = async (app, { publicUrl, root, config }) => {
  app.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, hide: true }
  })
  await app.register(pages, { root })
  await app.register(
    async (api) => {
      addETags(api)
      for (const routes of [items, events, calls]) await api.register(routes)
      for (const routes of [servers, imports, toolGroups, oauth]) await api.register(routes, { publicUrl })
      await api.register(overview, { publicUrl, config })
      await api.register(diagnostics, { config })
    },
    { prefix: '/api/dashboard' }
  )
}
