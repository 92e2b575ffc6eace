import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { GroupRecord } from '../../control/groups.ts'
import type { Caller } from '../../catalog/caller.ts'
import { notFound } from '../../lib/errors.ts'
import { callerOf } from '../../plugins/auth.ts'
import { ToolGroupPreview, ToolGroupsView, ToolGroupView } from '../../schemas/dashboard/tool-groups.ts'
import { errorResponses, NameParam, ref } from '../../schemas/shared.ts'
import { ToolGroupInput, ToolGroupReplacement } from '../../schemas/tool-group.ts'
import { baseUrlOf } from '../base-url.ts'
import { seenClient } from './seen-client.ts'
import { requireExactNumbers, toGroupConfig, toReplacement, withEndpointUrls } from '../group-config.ts'

const config = { access: 'admin' } as const
const reading = { access: 'user' } as const
const params = NameParam

/** Returns a group as the caller may read it: users see its tools, not the lists, which name what they may not use. */
function recordFor(caller: Caller, record: GroupRecord): GroupRecord {
  if (caller.kind !== 'user') return record
  const { tools: _tools, stale: _stale, broken: _broken, max_tokens: _limit, always_listed: _listed, ...shown } = record
  return { ...shown, included_tools: [], included_servers: [], excluded_tools: [], missing: [] }
}

/** Routes of tool groups with their effective tools, and the preview of a group. */
export const toolGroups: FastifyPluginAsyncTypebox<{ publicUrl: string | undefined }> = async (app, { publicUrl }) => {
  const view = (request: FastifyRequest, record: GroupRecord) => {
    const caller = callerOf(request)
    const { seen, clients, ...effective } = app.gateway.dashboard.groupDetails(caller, record.name)
    const { tools: overrides, ...shown } = recordFor(caller, record)
    return {
      ...withEndpointUrls(shown, baseUrlOf(request, publicUrl)),
      ...effective,
      ...(overrides === undefined ? {} : { overrides }),
      clients: clients.map(seenClient),
      ...(seen === undefined ? {} : { seen: new Date(seen).toISOString() })
    }
  }

  app.get('/tool-groups', { config: reading, schema: { response: { 200: ToolGroupsView } } }, (request) => {
    const visible = new Set(app.gateway.groups.visible(callerOf(request)))
    const shown = app.gateway.groups.list().filter(({ name }) => visible.has(name))
    return { tool_groups: shown.map((record) => view(request, record)) }
  })

  app.get(
    '/tool-groups/:name',
    { config: reading, schema: { params, response: { 200: ToolGroupView, ...errorResponses(400, 404, 414) } } },
    (request) => {
      const { name } = request.params
      if (!app.gateway.groups.visible(callerOf(request)).includes(name)) throw notFound('tool group', name)
      return view(request, app.gateway.groups.get(name))
    }
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
      requireExactNumbers(request)
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
        response: { 200: ToolGroupView, ...errorResponses(400, 404, 409, 413, 414, 415, 503) }
      }
    },
    async (request) => {
      requireExactNumbers(request)
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
