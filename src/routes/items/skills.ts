import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../../plugins/auth.ts'
import { errorResponses, ref, ServerQuery, UriQuery } from '../../schemas/shared.ts'
import { Skill } from '../../schemas/skill.ts'
import { sendJson } from '../replies.ts'
import { switches } from './switches.ts'

const tags = ['skills']
const config = { access: 'user' } as const

/** Routes of skills (http-contract.md#skill-record). Their files are read like resources. */
export const skills: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(switches, { kind: 'skill', plural: 'skills' })

  app.get(
    '/skills',
    {
      config,
      schema: {
        tags,
        operationId: 'listSkills',
        summary: 'List the skills of enabled servers',
        querystring: ServerQuery,
        response: { 200: Type.Array(ref(Skill)), ...errorResponses(404) }
      }
    },
    async (request, reply) => sendJson(reply, app.gateway.items.list(callerOf(request), 'skill', request.query.server))
  )

  app.get(
    '/skill',
    {
      config,
      schema: {
        tags,
        operationId: 'getSkill',
        summary: 'Get a skill',
        querystring: UriQuery,
        response: { 200: ref(Skill), ...errorResponses(404) }
      }
    },
    async (request, reply) => sendJson(reply, app.gateway.items.get(callerOf(request), 'skill', request.query.uri))
  )
}
