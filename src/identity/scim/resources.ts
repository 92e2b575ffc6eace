import { isObject } from '../../domain/is-object.ts'
import type { ScimGroupChange, ScimGroupRow } from '../../registry/repositories/scim-groups.ts'
import type {
  ScimMembership,
  ScimUserConfig,
  ScimUserRow,
  StoredScimUser
} from '../../registry/repositories/scim-users.ts'
import { checkText, invalidScim, readOperations, withoutIgnored, type PatchOperation } from './input.ts'
import { patchResource, readResource, schemaOf, type Resource } from './library.ts'

const MAX_RESOURCE = 16_384
const MAX_MEMBERS = 10_000

/** Reads a user from a body (RFC 7643 4.1). Throws a 400 AppError. */
export function readUser(body: unknown): ScimUserConfig {
  const given = readResource('User', withoutIgnored(body))
  const { id: _id, meta: _meta, schemas: _schemas, groups: _groups, active = true, ...attributes } = given
  const name = isObject(attributes['name']) ? attributes['name'] : {}
  const emails = (attributes['emails'] ?? []) as readonly { readonly value?: unknown; readonly primary?: unknown }[]
  const email = emails.find(({ primary }) => primary === true) ?? emails[0]
  const userName = checkText('userName', attributes['userName'])
  if (userName === null) throw invalidScim('invalidValue', '"userName" is missing')
  const parts = [name['givenName'], name['familyName']].filter((part) => typeof part === 'string')
  const resource = JSON.stringify(attributes)
  if (resource.length > MAX_RESOURCE) throw invalidScim('tooMany', 'the user has too many attributes')
  return {
    userName,
    externalId: checkText('externalId', attributes['externalId']),
    displayName: checkText('displayName', attributes['displayName'] ?? name['formatted'] ?? parts.join(' ')),
    email: checkText('emails', email?.value),
    active: active === true,
    resource
  }
}

/** Returns the function that applies the changes of a PATCH to a stored user. Both throw a 400 AppError. */
export function readUserPatch(body: unknown): (stored: StoredScimUser) => Promise<ScimUserConfig> {
  const operations = readOperations(body)
  return async ({ id, active, resource }) => {
    const stored = { schemas: [schemaOf('User')], id, active, ...(JSON.parse(resource) as Resource) }
    return readUser(await patchResource('User', stored, operations))
  }
}

const metaOf = (type: 'User' | 'Group', { id, createdAt, updatedAt }: ScimUserRow | ScimGroupRow, base: string) => ({
  resourceType: type,
  created: createdAt.toISOString(),
  lastModified: updatedAt.toISOString(),
  location: `${base}/${type}s/${id}`
})

/** `base`: URL of the SCIM routes. */
export function userResource(row: ScimUserRow, base: string): Resource {
  return {
    schemas: [schemaOf('User')],
    id: row.id,
    ...(JSON.parse(row.resource) as Resource),
    active: row.active,
    meta: metaOf('User', row, base)
  }
}

/** Returns the resource of a user with its groups. */
export const withGroups = (resource: Resource, groups: readonly ScimMembership[], base: string): Resource => ({
  ...resource,
  groups: groups.map(({ id, name }) => ({ value: id, display: name, $ref: `${base}/Groups/${id}` }))
})

type Members = readonly { readonly id: string; readonly userName: string }[]

export function groupResource(row: ScimGroupRow, members: Members | undefined, base: string): Resource {
  const { id, name, externalId } = row
  return {
    schemas: [schemaOf('Group')],
    id,
    ...(externalId !== null && { externalId }),
    displayName: name,
    ...(members && { members: members.map((user) => ({ value: user.id, display: user.userName, type: 'User' })) }),
    meta: metaOf('Group', row, base)
  }
}

/** Returns the ids of members from a value: a list of `{value}`, or one. */
function readMembers(value: unknown): string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (all.length > MAX_MEMBERS) throw invalidScim('tooMany', `at most ${MAX_MEMBERS} members are accepted at once`)
  return all.map((each) => {
    const id = isObject(each) ? each['value'] : undefined
    if (typeof id === 'string' && id.length <= 256) return id
    throw invalidScim('invalidValue', 'each member must have a "value"')
  })
}

const isMembers = (name: string) => /^members$/i.test(name)

/** Splits members from the other members of an object, whose number makes the library slow. */
function splitMembers(value: Resource): { readonly ids: string[] | undefined; readonly rest: Resource } {
  const entries = Object.entries(value)
  const given = entries.find(([name]) => isMembers(name))
  return {
    ids: given && (given[1] === null ? [] : readMembers(given[1])),
    rest: Object.fromEntries(entries.filter(([name]) => !isMembers(name)))
  }
}

function readHeader(body: unknown): { readonly name: string; readonly externalId: string | null } {
  const { displayName, externalId } = readResource('Group', body)
  const name = checkText('displayName', displayName)
  if (name === null) throw invalidScim('invalidValue', '"displayName" is missing')
  return { name, externalId: checkText('externalId', externalId) }
}

/** Reads a whole group from a body (RFC 7643 4.2). Throws a 400 AppError. */
export function readGroup(body: unknown): ScimGroupChange & { readonly name: string } {
  if (!isObject(body)) throw invalidScim('invalidSyntax', 'the body must be an object')
  const { ids = [], rest } = splitMembers(withoutIgnored(body) as Resource)
  return { ...readHeader(rest), members: [{ kind: 'set', ids }] }
}

type MemberChange = NonNullable<ScimGroupChange['members']>[number]

/** Returns the change of members by an operation; undefined if it is about something else. */
function readMemberChange({ op, path = '', value }: PatchOperation): MemberChange | undefined {
  const [, id] = /^members\[value eq "([^"\\]{1,256})"\]$/i.exec(path) ?? []
  if (id !== undefined && op === 'remove') return { kind: 'remove', ids: [id] }
  if (!isMembers(path)) return undefined
  if (op === 'add') return { kind: 'add', ids: readMembers(value) }
  if (op === 'replace') return { kind: 'set', ids: readMembers(value ?? []) }
  return value === undefined || value === null ? { kind: 'set', ids: [] } : { kind: 'remove', ids: readMembers(value) }
}

/** Adds a change; neighbours of the same kind become one. */
function addChange(changes: MemberChange[], change: MemberChange): void {
  const last = changes.at(-1)
  if (last?.kind === change.kind && change.kind !== 'set') {
    changes[changes.length - 1] = { kind: change.kind, ids: [...last.ids, ...change.ids] }
  } else changes.push(change)
}

/** Returns the changes of a PATCH to a group. Throws a 400 AppError. */
export async function patchGroup({ id, name, externalId }: ScimGroupRow, body: unknown): Promise<ScimGroupChange> {
  const members: MemberChange[] = []
  const others: PatchOperation[] = []
  for (const operation of readOperations(body)) {
    const change = readMemberChange(operation)
    if (change) addChange(members, change)
    else if (operation.path === undefined && isObject(operation.value)) {
      const { ids, rest } = splitMembers(operation.value)
      if (ids) addChange(members, { kind: operation.op === 'add' ? 'add' : 'set', ids })
      if (Object.keys(rest).length > 0) others.push({ op: operation.op, value: rest })
    } else others.push(operation)
  }
  const header = { schemas: [schemaOf('Group')], id, displayName: name, ...(externalId !== null && { externalId }) }
  const changed = readHeader(await patchResource('Group', header, others))
  // what stays as it was must not undo what another request changes at the same time
  return {
    members,
    ...(changed.name !== name && { name: changed.name }),
    ...(changed.externalId !== externalId && { externalId: changed.externalId })
  }
}
