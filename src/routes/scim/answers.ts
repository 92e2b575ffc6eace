import type { FastifyReply } from 'fastify'
import { Type, type Static } from '@sinclair/typebox'
import { invalidScim } from '../../identity/scim/input.ts'
import type { Resource } from '../../identity/scim/library.ts'
import { Text } from '../../schemas/shared.ts'

const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
const MAX_COUNT = 200
/** Resources to which the gateway applies what the database cannot decide. */
export const MAX_FILTERED = 2_000

export const ResourceParam = Type.Object({ id: Text() })

/** Query of lists and resources (RFC 7644 3.4.2 and 3.9); sorting is not offered. */
export const ListQuery = Type.Object(
  {
    filter: Type.Optional(Text()),
    startIndex: Type.Optional(Text({ maxLength: 10 })),
    count: Type.Optional(Text({ maxLength: 10 })),
    attributes: Type.Optional(Text()),
    excludedAttributes: Type.Optional(Text())
  },
  { additionalProperties: true }
)
export type ListQuery = Static<typeof ListQuery>

export interface Paging {
  /** Number of resources before the page. */
  readonly offset: number
  readonly limit: number
}

const integerOf = (name: string, given: string | undefined, otherwise: number): number => {
  if (given === undefined) return otherwise
  if (/^-?\d{1,9}$/.test(given)) return Number(given)
  throw invalidScim('invalidValue', `"${name}" must be a whole number`)
}

/** Reads the page; values out of range are replaced (RFC 7644 3.4.2.4). */
export const pagingOf = ({ startIndex, count }: ListQuery): Paging => ({
  offset: Math.max(1, integerOf('startIndex', startIndex, 1)) - 1,
  limit: Math.min(MAX_COUNT, Math.max(0, integerOf('count', count, MAX_COUNT)))
})

const namesIn = (text: string) =>
  new Set(
    text.split(',').map((name) =>
      name
        .trim()
        .replace(/^urn:ietf:params:scim:schemas:core:2\.0:\w+:/i, '')
        .split('.')[0]!
        .toLowerCase()
    )
  )
const always: readonly string[] = ['schemas', 'id', 'meta']

/** Tests if a query asks for an attribute, given in lower case. */
export function isAskedFor({ attributes, excludedAttributes }: ListQuery, name: string): boolean {
  if (attributes !== undefined) return namesIn(attributes).has(name)
  return excludedAttributes === undefined || !namesIn(excludedAttributes).has(name)
}

const project = (resource: Resource, query: ListQuery): Resource =>
  query.attributes === undefined && query.excludedAttributes === undefined
    ? resource
    : Object.fromEntries(
        Object.entries(resource).filter(([name]) => always.includes(name) || isAskedFor(query, name.toLowerCase()))
      )

const sendJson = (reply: FastifyReply, status: number, body: object) =>
  reply
    .code(status)
    .type('application/scim+json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(JSON.stringify(body))

export function sendResource(
  reply: FastifyReply,
  resource: Resource,
  query: ListQuery = {},
  status = 200
): FastifyReply {
  const meta = resource['meta'] as { readonly location?: string } | undefined
  if (meta?.location !== undefined) void reply.header('location', meta.location)
  return sendJson(reply, status, project(resource, query))
}

/** `total`: number of all resources that match. */
export const sendList = (
  reply: FastifyReply,
  resources: readonly Resource[],
  { total, offset = 0, query = {} }: { readonly total: number; readonly offset?: number; readonly query?: ListQuery }
): FastifyReply =>
  sendJson(reply, 200, {
    schemas: [LIST],
    totalResults: total,
    startIndex: offset + 1,
    itemsPerPage: resources.length,
    Resources: resources.map((resource) => project(resource, query))
  })

/** Returns the matching resources of all that a filter has to be applied to, and a page of them. */
export function pageOf(
  all: { readonly total: number; readonly resources: readonly Resource[] },
  match: (resources: readonly Resource[]) => Resource[],
  { offset, limit }: Paging
): { readonly total: number; readonly resources: readonly Resource[] } {
  if (all.total > MAX_FILTERED) {
    throw invalidScim('tooMany', `this filter can be applied to at most ${MAX_FILTERED} resources; name one of them`)
  }
  const found = match(all.resources)
  return { total: found.length, resources: found.slice(offset, offset + limit) }
}
