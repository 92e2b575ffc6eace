import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readFilter } from '../../identity/scim/library.ts'
import { groupResource, patchGroup, readGroup } from '../../identity/scim/resources.ts'
import { notFound } from '../../lib/errors.ts'
import type { ScimGroupQuery, ScimGroupRow } from '../../registry/repositories/scim-groups.ts'
import { OpenObject } from '../../schemas/shared.ts'
import {
  isAskedFor,
  ListQuery,
  MAX_FILTERED,
  pageOf,
  pagingOf,
  ResourceParam,
  sendList,
  sendResource
} from './answers.ts'
import { scimRoute as config, type ScimOptions } from './options.ts'

const BODY_BYTES = 1_048_576
/** Members in one answer, but at least those of one group. */
const MAX_MEMBERS = 10_000
const columns = { id: 'id', displayname: 'name', externalid: 'externalId' } as const
type Column = (typeof columns)[keyof typeof columns] & keyof ScimGroupQuery

/** Returns the first groups whose members fit into one answer. */
function withinMembers(groups: readonly ScimGroupRow[]): readonly ScimGroupRow[] {
  let members = 0
  const end = groups.findIndex(({ memberCount }, i) => (members += memberCount) > MAX_MEMBERS && i > 0)
  return end < 0 ? groups : groups.slice(0, end)
}

/** Groups that a SCIM client manages (RFC 7644 3): users have them as those of the identity provider. */
export const scimGroups: FastifyPluginAsyncTypebox<ScimOptions> = async (app, { base, roleOf, changeOf }) => {
  const bodyLimit = BODY_BYTES
  const find = async (id: string): Promise<ScimGroupRow> => {
    const { groups } = await app.registry.scim.groups({ id, offset: 0, limit: 1 })
    if (!groups[0]) throw notFound('group', id)
    return groups[0]
  }
  const resourcesOf = async (groups: readonly ScimGroupRow[], hasMembers: boolean) => {
    const members = hasMembers ? await app.registry.scim.members(groups.map(({ id }) => id)) : undefined
    return groups.map((group) => groupResource(group, members?.get(group.id), base))
  }

  app.get('/Groups', { config, schema: { querystring: ListQuery } }, async (request, reply) => {
    const { query } = request
    const { equal, match } = readFilter<Column>(query.filter, columns)
    const paging = pagingOf(query)
    const range = match ? { offset: 0, limit: MAX_FILTERED } : paging
    const { total, groups } = await app.registry.scim.groups({ ...equal, ...range })
    const readsMembers = isAskedFor(query, 'members')
    const needsMembers = readsMembers || (match !== undefined && /\bmembers\b/i.test(query.filter!))
    const fitting = needsMembers ? withinMembers(groups) : groups
    const resources = await resourcesOf(fitting, needsMembers)
    // groups that were left out count as too many for a filter
    const all = { total: fitting.length < groups.length ? Infinity : total, resources }
    const page = match ? pageOf(all, match, paging) : { total, resources }
    return sendList(reply, page.resources, { total: page.total, offset: paging.offset, query })
  })

  app.get(
    '/Groups/:id',
    { config, schema: { params: ResourceParam, querystring: ListQuery } },
    async (request, reply) => {
      const [group] = await resourcesOf([await find(request.params.id)], isAskedFor(request.query, 'members'))
      return sendResource(reply, group!, request.query)
    }
  )

  app.post('/Groups', { config, bodyLimit, schema: { body: OpenObject() } }, async (request, reply) => {
    const group = readGroup(request.body)
    const change = changeOf(request, 'identity_group.create', group.name)
    const id = await app.registry.write(change, (tx) => tx.scimGroups.create(group, roleOf))
    const [made] = await resourcesOf([await find(id)], true)
    return sendResource(reply, made!, {}, 201)
  })

  app.put(
    '/Groups/:id',
    { config, bodyLimit, schema: { params: ResourceParam, body: OpenObject() } },
    async (request, reply) => {
      const group = readGroup(request.body)
      const { id } = request.params
      const change = changeOf(request, 'identity_group.change', group.name)
      await app.registry.write(change, (tx) => tx.scimGroups.change(id, group, roleOf))
      const [changed] = await resourcesOf([await find(id)], true)
      return sendResource(reply, changed!)
    }
  )

  app.patch(
    '/Groups/:id',
    { config, bodyLimit, schema: { params: ResourceParam, body: OpenObject() } },
    async (request, reply) => {
      const group = await find(request.params.id)
      const wanted = await patchGroup(group, request.body)
      const change = changeOf(request, 'identity_group.change', group.name)
      await app.registry.write(change, (tx) => tx.scimGroups.change(group.id, wanted, roleOf))
      // without the resource: it may have many members (RFC 7644 3.5.2)
      return reply.code(204).send()
    }
  )

  app.delete('/Groups/:id', { config, schema: { params: ResourceParam } }, async (request, reply) => {
    const { id, name } = await find(request.params.id)
    const change = changeOf(request, 'identity_group.remove', name)
    await app.registry.write(change, (tx) => tx.scimGroups.remove(id, roleOf))
    return reply.code(204).send()
  })
}
