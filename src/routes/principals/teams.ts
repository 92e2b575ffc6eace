import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { toTeam } from '../../control/people/teams.ts'
import { invalid } from '../../lib/errors.ts'
import { callerOf } from '../../plugins/auth.ts'
import { errorResponses, NameParam, ref } from '../../schemas/shared.ts'
import { Team, TeamInput, TeamReplacement } from '../../schemas/team.ts'

const tags = ['teams']
const params = NameParam
const config = { access: 'admin' } as const
const reading = { access: 'auditor' } as const

type App = Parameters<FastifyPluginAsyncTypebox>[0]

/** Routes of teams, enterprise mode only. */
export const teams: FastifyPluginAsyncTypebox = async (app) => {
  addReads(app)
  addChanges(app)
}

function addReads(app: App): void {
  app.get(
    '/teams',
    {
      config: reading,
      schema: { tags, operationId: 'listTeams', summary: 'List teams', response: { 200: Type.Array(ref(Team)) } }
    },
    () => app.gateway.teams.list()
  )

  app.get(
    '/teams/:name',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'getTeam',
        summary: 'Get a team',
        params,
        response: { 200: ref(Team), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.teams.get(request.params.name)
  )
}

function addChanges(app: App): void {
  app.post(
    '/teams',
    {
      config,
      schema: {
        tags,
        operationId: 'createTeam',
        summary: 'Create a team',
        description: 'Policies that name the team count at once for its people, on open streams and running calls too.',
        body: ref(TeamInput),
        response: { 201: ref(Team), ...errorResponses(404, 409) }
      }
    },
    async (request, reply) => {
      const { name } = request.body
      return reply.code(201).send(await app.gateway.teams.create(callerOf(request), toTeam(name, request.body)))
    }
  )

  app.put(
    '/teams/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'replaceTeam',
        summary: 'Replace the members and groups of a team',
        params,
        body: ref(TeamReplacement),
        response: { 200: ref(Team), ...errorResponses(404) }
      }
    },
    async (request) => {
      const { body } = request
      const { name } = request.params
      if (body.name !== undefined && body.name !== name) throw invalid('"name" must equal the name in the path')
      return app.gateway.teams.replace(callerOf(request), toTeam(name, body))
    }
  )

  app.delete(
    '/teams/:name',
    {
      config,
      schema: {
        tags,
        operationId: 'deleteTeam',
        summary: 'Remove a team',
        description:
          'Policies that name the team stay and count for nobody of it. 409: an enabled policy that denies names it.',
        params,
        response: { 204: Type.Null(), ...errorResponses(404, 409) }
      }
    },
    async (request, reply) => {
      await app.gateway.teams.remove(callerOf(request), request.params.name)
      return reply.code(204).send(null)
    }
  )
}
