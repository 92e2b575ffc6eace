import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { GroupRecord } from '../control/groups.ts'
import { callerOf } from '../plugins/auth.ts'
import { SearchChecks } from '../schemas/check.ts'
import { errorResponses, NameParam, ref, StringEnum } from '../schemas/shared.ts'
import {
  EffectiveTools,
  ReplacedToolGroup,
  ToolGroup,
  ToolGroupDetails,
  ToolGroupInput,
  ToolGroupReplacement
} from '../schemas/tool-group.ts'
import { baseUrlOf } from './base-url.ts'
import { requireExactNumbers, toGroupConfig, toReplacement, withEndpointUrls } from './group-config.ts'
import { sendJson } from './replies.ts'

const tags = ['tool groups']
const params = NameParam
const config = { access: 'admin' } as const

export interface ToolGroupOptions {
  /** Base URL of the endpoints in responses; undefined: derived from the request. */
  readonly publicUrl: string | undefined
}

/** Routes of tool groups (http-contract.md#tool-groups). */
export const toolGroups: FastifyPluginAsyncTypebox<ToolGroupOptions> = async (app, { publicUrl }) => {
  const details = (request: FastifyRequest, record: GroupRecord) =>
    withEndpointUrls(record, baseUrlOf(request, publicUrl))

  app.get(
    '/tool-groups',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'listToolGroups',
        summary: 'List tool groups',
        response: { 200: Type.Array(ref(ToolGroup)) }
      }
    },
    () => app.gateway.groups.list()
  )

  app.post(
    '/tool-groups',
    {
      config,
      schema: {
        tags,
        operationId: 'createToolGroup',
        summary: 'Create a tool group',
        description: 'A group is a separate MCP endpoint with selected tools. Without inclusions it is empty.',
        body: ref(ToolGroupInput),
        response: { 201: ref(ToolGroupDetails), ...errorResponses(409) }
      }
    },
    async (request, reply) => {
      requireExactNumbers(request)
      const group = await app.gateway.groups.create(callerOf(request), toGroupConfig(request.body.name, request.body))
      return reply.code(201).send(details(request, group))
    }
  )

  app.get(
    '/tool-groups/:name',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'getToolGroup',
        summary: 'Get a tool group',
        params,
        response: { 200: ref(ToolGroupDetails), ...errorResponses(404) }
      }
    },
    (request) => details(request, app.gateway.groups.get(request.params.name))
  )

  app.get(
    '/tool-groups/:name/effective-tools',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'listEffectiveTools',
        summary: 'List the effective tools of a tool group',
        params,
        querystring: Type.Object(
          {
            detail: Type.Optional(
              StringEnum(['definitions'], {
                description: 'Adds the definitions as the endpoint lists them, with tokens'
              })
            )
          },
          { additionalProperties: false }
        ),
        response: { 200: ref(EffectiveTools), ...errorResponses(404) }
      }
    },
    async (request, reply) => {
      const { name } = request.params
      if (request.query.detail === undefined) return { tools: app.gateway.groups.effectiveTools(name) }
      return sendJson(reply, app.gateway.groups.definitions(name))
    }
  )

  app.post(
    '/tool-groups/preview',
    {
      config,
      schema: {
        tags,
        operationId: 'previewToolGroup',
        summary: 'List what a tool group would serve',
        description:
          'Stores nothing. The name may be that of a stored group: `***` then stands for its secrets. A limit of tokens is not checked.',
        body: ref(ToolGroupReplacement),
        response: { 200: ref(EffectiveTools), ...errorResponses() }
      }
    },
    async (request, reply) => {
      requireExactNumbers(request)
      const { body } = request
      return sendJson(reply, app.gateway.groups.preview(toGroupConfig(body.name ?? '', body)))
    }
  )

  app.get(
    '/search/checks',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'checkSearch',
        summary: 'Check the vectors for search',
        description: 'Tells how many tools of groups in search mode have a vector. Sends nothing to the endpoint.',
        response: { 200: ref(SearchChecks) }
      }
    },
    () => ({ checks: app.gateway.searchChecks() })
  )

  addWrites(app, details)
}

type App = Parameters<typeof toolGroups>[0]

function addWrites(
  app: App,
  details: (request: FastifyRequest, record: GroupRecord) => ReturnType<typeof withEndpointUrls>
): void {
  app.put(
    '/tool-groups/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'replaceToolGroup',
        summary: 'Replace the configuration of a tool group',
        description: 'Open sessions get the new tools at once. Names already in the group may refer to missing items.',
        params,
        body: ref(ToolGroupReplacement),
        response: { 200: ref(ReplacedToolGroup), ...errorResponses(404, 409) }
      }
    },
    async (request) => {
      requireExactNumbers(request)
      const config = toReplacement(request.params.name, request.body)
      const { before, after } = await app.gateway.groups.replace(callerOf(request), config)
      return { ...details(request, after), old: before, new: after }
    }
  )

  app.delete(
    '/tool-groups/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'deleteToolGroup',
        summary: 'Remove a tool group',
        description: 'Ends its open sessions. 409: an enabled policy that denies names it.',
        params,
        response: { 204: Type.Null(), ...errorResponses(404, 409) }
      }
    },
    async (request, reply) => {
      await app.gateway.groups.remove(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
