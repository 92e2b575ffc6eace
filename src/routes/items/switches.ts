import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf } from '../../plugins/auth.ts'
import type { ItemKind } from '../../registry/model/model.ts'
import { EntityQuery, errorResponses, Names } from '../../schemas/shared.ts'

/** Routes `POST /<plural>/enable|disable?entity=`, for one item or all items of a server. */
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
          summary: `${enabled ? 'Enable' : 'Disable'} one of the ${plural}, or all ${plural} of a server`,
          querystring: EntityQuery,
          response: { 200: Names, ...errorResponses(404) }
        }
      },
      (request) => app.gateway.items.setEnabled(callerOf(request), kind, request.query.entity, enabled)
    )
  }
}
