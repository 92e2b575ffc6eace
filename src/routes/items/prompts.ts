import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../../plugins/auth.ts'
import { Prompt, PromptCall, PromptResult } from '../../schemas/prompt.ts'
import { errorResponses, NameQuery, ref, ServerQuery } from '../../schemas/shared.ts'
import { disconnectSignalOf, sendJson } from '../replies.ts'
import { switches } from './switches.ts'

const tags = ['prompts']
const config = { access: 'user' } as const

/** Routes of prompts (http-contract.md#prompt-record). */
export const prompts: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(switches, { kind: 'prompt', plural: 'prompts' })

  app.get(
    '/prompts',
    {
      config,
      schema: {
        tags,
        operationId: 'listPrompts',
        summary: 'List the prompts of enabled servers',
        querystring: ServerQuery,
        response: { 200: Type.Array(ref(Prompt)), ...errorResponses(404) }
      }
    },
    async (request, reply) => sendJson(reply, app.gateway.items.list(callerOf(request), 'prompt', request.query.server))
  )

  app.get(
    '/prompt',
    {
      config,
      schema: {
        tags,
        operationId: 'getPrompt',
        summary: 'Get a prompt',
        querystring: NameQuery,
        response: { 200: ref(Prompt), ...errorResponses(404) }
      }
    },
    async (request, reply) => sendJson(reply, app.gateway.items.get(callerOf(request), 'prompt', request.query.name))
  )

  app.post(
    '/prompts/render',
    {
      config: { access: 'call' },
      schema: {
        tags,
        operationId: 'renderPrompt',
        summary: 'Render a prompt',
        body: ref(PromptCall),
        response: { 200: ref(PromptResult), ...errorResponses(404, 409, 502, 504) }
      }
    },
    async (request, reply) => {
      const { name, arguments: args = {} } = request.body
      return sendJson(reply, await app.gateway.calls.render(callerOf(request), name, args, disconnectSignalOf(reply)))
    }
  )
}
