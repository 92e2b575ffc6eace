import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf } from '../plugins/auth.ts'
import type { ItemKind } from '../registry/model.ts'
import { EntityQuery, failures, Names } from '../schemas/shared.ts'

/** `POST /<plural>/enable|disable?entity=`: one item, or every item of a server. */
export const switches: FastifyPluginAsyncTypebox<{ kind: ItemKind; plural: string }> = async (
  app,
  { kind, plural }
) => {
  for (const [verb, enabled] of [['enable', true] as const, ['disable', false] as const]) {
    app.post(
      `/${plural}/${verb}`,
      {
        config: { access: 'admin' },
        schema: {
          tags: [plural],
          operationId: `${verb}${plural[0]!.toUpperCase()}${plural.slice(1)}`,
          summary: `${enabled ? 'Enable' : 'Disable'} one of the ${plural}, or all of a server`,
          querystring: EntityQuery,
          response: { 200: Names, ...failures(404) }
        }
      },
      (request) => app.gateway.setItemsEnabled(callerOf(request), kind, request.query.entity, enabled)
    )
  }
}
