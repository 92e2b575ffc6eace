import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { GroupRecord } from '../../control/groups.ts'
import { callerOf } from '../../plugins/auth.ts'
import { ToolGroupPreview, ToolGroupsView, ToolGroupView } from '../../schemas/dashboard/tool-groups.ts'
import { errorResponses, NameParam, ref } from '../../schemas/shared.ts'
import { ToolGroupInput, ToolGroupReplacement } from '../../schemas/tool-group.ts'
import { baseUrlOf } from '../base-url.ts'
import { seenClient } from './seen-client.ts'
import { toGroupConfig, toReplacement, withEndpointUrls } from '../group-config.ts'

const config = { access: 'admin' } as const
const params = NameParam

/** Routes of tool groups with their effective tools, and the preview of a group. */
export const toolGroups: FastifyPluginAsyncTypebox<{ publicUrl: string | undefined }> = async (app, { publicUrl }) => {
  const view = (request: FastifyRequest, record: GroupRecord) => {
    const { seen, clients, ...effective } = app.gateway.dashboard.groupDetails(record.name)
    return {
      ...withEndpointUrls(record, baseUrlOf(request, publicUrl)),
      ...effective,
      clients: clients.map(seenClient),
      ...(seen === undefined ? {} : { seen: new Date(seen).toISOString() })
    }
  }

  app.get('/tool-groups', { config, schema: { response: { 200: ToolGroupsView } } }, (request) => ({
    tool_groups: app.gateway.groups.list().map((record) => view(request, record))
  }))

  app.get(
    '/tool-groups/:name',
    { config, schema: { params, response: { 200: ToolGroupView, ...errorResponses(400, 404, 414) } } },
    (request) => view(request, app.gateway.groups.get(request.params.name))
  )

  app.post(
    '/tool-groups',
    {
      config,
      schema: {
        body: ref(ToolGroupInput),
        response: { 201: ToolGroupView, ...errorResponses(400, 409, 413, 415, 503) }
      }
    },
    async (request, reply) => {
      const to = toGroupConfig(request.body.name, request.body)
      return reply.code(201).send(view(request, await app.gateway.groups.create(callerOf(request), to)))
    }
  )

  app.post(
    '/tool-groups/preview',
    {
      config,
      schema: { body: ref(ToolGroupReplacement), response: { 200: ToolGroupPreview, ...errorResponses(400, 413, 415) } }
    },
    ({ body }) => app.gateway.dashboard.preview(toGroupConfig(body.name ?? '', body))
  )

  app.put(
    '/tool-groups/:name',
    {
      config,
      schema: {
        params,
        body: ref(ToolGroupReplacement),
        response: { 200: ToolGroupView, ...errorResponses(400, 404, 413, 414, 415, 503) }
      }
    },
    async (request) => {
      const to = toReplacement(request.params.name, request.body)
      return view(request, (await app.gateway.groups.replace(callerOf(request), to)).after)
    }
  )

  app.delete(
    '/tool-groups/:name',
    { config, schema: { params, response: { 204: Type.Null(), ...errorResponses(400, 404, 409, 414, 503) } } },
    async (request, reply) => {
      await app.gateway.groups.remove(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
