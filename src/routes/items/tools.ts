import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../../plugins/auth.ts'
import { bodyTextOf } from '../../plugins/json-body.ts'
import { errorResponses, NameQuery, ref, ServerQuery } from '../../schemas/shared.ts'
import { Tool, ToolCall, ToolCallQuery, ToolResult } from '../../schemas/tool.ts'
import { disconnectSignalOf, sendJson } from '../replies.ts'
import { switches } from './switches.ts'
import { toolArguments, wrappedArguments } from './tool-arguments.ts'

const tags = ['tools']
const config = { access: 'user' } as const

/** Routes of tools (http-contract.md#tool-record, http-contract.md#tool-invocation). */
export const tools: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(switches, { kind: 'tool', plural: 'tools' })

  app.get(
    '/tools',
    {
      config,
      schema: {
        tags,
        operationId: 'listTools',
        summary: 'List the tools of enabled servers',
        querystring: ServerQuery,
        response: { 200: Type.Array(ref(Tool)), ...errorResponses(404) }
      }
    },
    async (request, reply) => sendJson(reply, app.gateway.items.list(callerOf(request), 'tool', request.query.server))
  )

  app.get(
    '/tool',
    {
      config,
      schema: {
        tags,
        operationId: 'getTool',
        summary: 'Get a tool',
        querystring: NameQuery,
        response: { 200: ref(Tool), ...errorResponses(404) }
      }
    },
    async (request, reply) => sendJson(reply, app.gateway.items.get(callerOf(request), 'tool', request.query.name))
  )

  app.post(
    '/tools/invoke',
    {
      config: { access: 'call' },
      schema: {
        tags,
        operationId: 'invokeTool',
        summary: 'Call a tool',
        description: 'An error reported by the tool itself is a 200 with `isError`.',
        querystring: ToolCallQuery,
        body: ref(ToolCall),
        response: { 200: ref(ToolResult), ...errorResponses(404, 409, 502, 504) }
      }
    },
    async (request, reply) => {
      const { name } = request.body
      const text = bodyTextOf(request)
      const args =
        request.query.arguments === 'object'
          ? wrappedArguments(text)
          : toolArguments(text, () => app.gateway.items.hasToolProperty(callerOf(request), name, 'arguments'))
      return sendJson(reply, await app.gateway.calls.invoke(callerOf(request), name, args, disconnectSignalOf(reply)))
    }
  )
}
