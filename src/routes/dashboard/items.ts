import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { developmentCaller } from '../../catalog/caller.ts'
import { AppError } from '../../lib/errors.ts'
import { callerOf } from '../../plugins/auth.ts'
import type { ItemKind } from '../../registry/model/model.ts'
import { PromptsView } from '../../schemas/dashboard/prompts.ts'
import { ResourcesView } from '../../schemas/dashboard/resources.ts'
import { EnabledInput, EnabledState, ItemParam } from '../../schemas/dashboard/shared.ts'
import { SkillsView } from '../../schemas/dashboard/skills.ts'
import { ToolsView } from '../../schemas/dashboard/tools.ts'
import { errorResponses } from '../../schemas/shared.ts'
import { sendJson } from '../replies.ts'

const config = { access: 'admin' } as const
const reading = { access: 'user' } as const

/** Item kinds by path; the first kind that has an item of the given name is used. */
const itemPaths: readonly (readonly [path: string, kinds: readonly ItemKind[]])[] = [
  ['tools', ['tool']],
  ['prompts', ['prompt']],
  ['resources', ['resource', 'template']],
  ['skills', ['skill']]
]

/** Routes of tools, prompts, resources and skills of all servers: list and enable. */
export const items: FastifyPluginAsyncTypebox = async (app) => {
  app.get('/tools', { config: reading, schema: { response: { 200: ToolsView } } }, async (request, reply) =>
    sendJson(reply, app.gateway.dashboard.tools(callerOf(request)))
  )
  app.get('/prompts', { config: reading, schema: { response: { 200: PromptsView } } }, (request) =>
    app.gateway.dashboard.prompts(callerOf(request))
  )
  app.get('/skills', { config: reading, schema: { response: { 200: SkillsView } } }, (request) =>
    app.gateway.dashboard.skills(callerOf(request))
  )
  app.get('/resources', { config: reading, schema: { response: { 200: ResourcesView } } }, (request) =>
    app.gateway.dashboard.resources(callerOf(request))
  )

  /**
   * Returns the kind of the item. Throws AppError 404 if there is none: a server's name would otherwise switch all its
   * items.
   */
  const kindOf = (kinds: readonly ItemKind[], name: string): ItemKind => {
    for (const kind of kinds.slice(0, -1)) {
      try {
        app.gateway.items.get(developmentCaller, kind, name)
        return kind
      } catch (error) {
        if (!(error instanceof AppError) || error.statusCode !== 404) throw error
      }
    }
    const last = kinds.at(-1)!
    app.gateway.items.get(developmentCaller, last, name)
    return last
  }
  for (const [path, kinds] of itemPaths) {
    app.patch(
      `/${path}/:name/enabled`,
      {
        config,
        schema: {
          params: ItemParam,
          body: EnabledInput,
          response: { 200: EnabledState, ...errorResponses(400, 404, 413, 414, 415, 503) }
        }
      },
      async (request) => {
        const { name } = request.params
        const { enabled } = request.body
        await app.gateway.items.setEnabled(callerOf(request), kindOf(kinds, name), name, enabled)
        return { name, enabled }
      }
    )
  }
}
