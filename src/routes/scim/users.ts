import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readFilter, type Resource } from '../../identity/scim/library.ts'
import { readUser, readUserPatch, userResource, withGroups } from '../../identity/scim/resources.ts'
import type { ScimUserQuery, ScimUserRow } from '../../registry/repositories/scim-users.ts'
import { notFound } from '../../lib/errors.ts'
import { OpenObject } from '../../schemas/shared.ts'
import { ListQuery, MAX_FILTERED, pageOf, pagingOf, ResourceParam, sendList, sendResource } from './answers.ts'
import { scimRoute as config, type ScimOptions } from './options.ts'

const BODY_BYTES = 65_536
const columns = { id: 'id', username: 'userName', externalid: 'externalId' } as const
type Column = (typeof columns)[keyof typeof columns] & keyof ScimUserQuery

/** Users that a SCIM client manages (RFC 7644 3). */
export const scimUsers: FastifyPluginAsyncTypebox<ScimOptions> = async (app, { base, issuer, changeOf }) => {
  const bodyLimit = BODY_BYTES
  const find = async (id: string): Promise<ScimUserRow> => {
    const { users } = await app.registry.scim.users({ id, offset: 0, limit: 1 })
    if (!users[0]) throw notFound('user', id)
    return users[0]
  }

  const addGroups = async (resources: readonly Resource[]) => {
    const groups = await app.registry.scim.memberships(resources.map(({ id }) => id as string))
    return resources.map((resource) => withGroups(resource, groups.get(resource['id'] as string)!, base))
  }
  const resourceOf = async (id: string): Promise<Resource> => {
    const [resource] = await addGroups([userResource(await find(id), base)])
    return resource!
  }

  app.get('/Users', { config, schema: { querystring: ListQuery } }, async (request, reply) => {
    const { query } = request
    const { equal, match } = readFilter<Column>(query.filter, columns)
    const paging = pagingOf(query)
    const range = match ? { offset: 0, limit: MAX_FILTERED } : paging
    const { total, users } = await app.registry.scim.users({ ...equal, ...range })
    const resources = users.map((user) => userResource(user, base))
    const page = match ? pageOf({ total, resources }, match, paging) : { total, resources }
    return sendList(reply, await addGroups(page.resources), { total: page.total, offset: paging.offset, query })
  })

  app.get('/Users/:id', { config, schema: { params: ResourceParam, querystring: ListQuery } }, async (request, reply) =>
    sendResource(reply, await resourceOf(request.params.id), request.query)
  )

  app.post('/Users', { config, bodyLimit, schema: { body: OpenObject() } }, async (request, reply) => {
    const user = readUser(request.body)
    const change = changeOf(request, 'user.create', user.userName)
    const id = await app.registry.write(change, (tx) => tx.scimUsers.create(user, issuer))
    return sendResource(reply, await resourceOf(id), {}, 201)
  })

  app.put(
    '/Users/:id',
    { config, bodyLimit, schema: { params: ResourceParam, body: OpenObject() } },
    async (request, reply) => {
      const user = readUser(request.body)
      const { id, name } = await find(request.params.id)
      await app.registry.write(changeOf(request, 'user.change', name), (tx) =>
        tx.scimUsers.replace(id, async () => user)
      )
      return sendResource(reply, await resourceOf(id))
    }
  )

  app.patch(
    '/Users/:id',
    { config, bodyLimit, schema: { params: ResourceParam, body: OpenObject() } },
    async (request, reply) => {
      const { id, name } = await find(request.params.id)
      const patch = readUserPatch(request.body)
      // within the write: an older state must not come back when two requests change a user at the same time
      await app.registry.write(changeOf(request, 'user.change', name), (tx) => tx.scimUsers.replace(id, patch))
      return sendResource(reply, await resourceOf(id))
    }
  )

  app.delete('/Users/:id', { config, schema: { params: ResourceParam } }, async (request, reply) => {
    const { id, name } = await find(request.params.id)
    await app.registry.write(changeOf(request, 'user.remove', name), (tx) => tx.scimUsers.remove(id))
    return reply.code(204).send()
  })
}
