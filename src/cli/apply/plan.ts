import { approvalMembers } from '../../domain/policy/input.ts'
import { keySetProblem, toKeySet, type KeySet } from '../../domain/access/client-keys.ts'
import { DEFAULT_SEARCH_LIMIT } from '../../domain/search/limits.ts'
import { isObject } from '../../domain/is-object.ts'
import { difference, type Difference, type Members } from '../../domain/secrets/difference.ts'
import type { FileKind } from '../io/kinds.ts'

/** One change towards the declared state. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete'
  readonly kind: FileKind
  readonly name: string
  /** Secrets are masked. */
  readonly difference: Difference
}

/** A change and its outcome. */
export interface Result extends Change {
  readonly outcome: 'planned' | 'done' | 'failed' | 'skipped'
  readonly error?: string
}

const isEmptyValue = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const pick = (value: Members, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (isEmptyValue(value[name]) ? [] : [[name, value[name]]])))

const unique = (value: unknown): unknown => (Array.isArray(value) ? [...new Set(value)] : value)

const byTransport: Readonly<Record<string, readonly string[]>> = {
  stdio: ['command', 'args', 'env'],
  sse: ['url', 'bearer_token', 'headers'],
  streamable_http: [
    'url',
    'bearer_token',
    'headers',
    'oauth_redirect_uri',
    'oauth_client_id',
    'oauth_client_secret',
    'oauth_scopes',
    'oauth_issuer',
    'oauth_assume_pkce'
  ]
}

/**
 * Returns the configuration members in canonical form, without empty members and members that the gateway would not
 * store. Equal forms mean equal configurations.
 */
export function normalise(kind: FileKind, value: Members): Record<string, unknown> {
  if (kind === 'server') {
    const transportMembers = byTransport[String(value.transport)] ?? []
    const all = pick(value, [
      'name',
      'transport',
      'description',
      'session_mode',
      'trusted_annotations',
      'definitions',
      ...transportMembers
    ])
    const apps = value.apps === false ? { apps: false } : {}
    return { ...all, ...apps, session_mode: all.session_mode ?? 'stateless' }
  }
  if (kind === 'user') return pick(value, ['name', 'role', 'suspended'])
  if (kind === 'team') return normaliseTeam(value)
  if (kind === 'policy') return normalisePolicy(value)
  const lists = kind === 'group' ? ['included_tools', 'included_servers', 'excluded_tools'] : ['allowed_servers']
  const bare = value.tool_names === 'bare' ? { tool_names: 'bare' } : {}
  return {
    ...pick(value, ['name', 'description']),
    ...Object.fromEntries(lists.map((name) => [name, unique(value[name] ?? [])])),
    ...(kind === 'group'
      ? {
          ...bare,
          ...searchMembers(value),
          ...pick(value, ['tools', 'instructions', 'max_tokens', 'max_result_tokens'])
        }
      : pick({ ...value, jwks: keysOf(value.jwks) }, ['jwks', 'jwks_uri']))
  }
}

/** Returns the members of search mode that differ from their defaults. */
function searchMembers({ tool_list: list, always_listed: listed, search_limit: limit }: Members) {
  const mode = list === 'search' ? { tool_list: list } : {}
  return {
    ...mode,
    ...pick({ always_listed: unique(listed ?? []) }, ['always_listed']),
    ...(limit === DEFAULT_SEARCH_LIMIT ? {} : pick({ search_limit: limit }, ['search_limit']))
  }
}

const membersOf = (value: unknown): Record<string, unknown> => (isObject(value) ? pick(value, Object.keys(value)) : {})

function normaliseTeam({ name, members = [], groups = [] }: Members): Record<string, unknown> {
  const people = (members as readonly Members[]).map(({ user, role = 'member' }) => ({ user: String(user), role }))
  return { name, members: people.toSorted((a, b) => (a.user < b.user ? -1 : 1)), groups }
}

function normalisePolicy({ enabled, mode, subjects, targets, ...value }: Members): Record<string, unknown> {
  return {
    ...pick(value, ['name', 'effect', 'everyone', 'when', 'reason', ...approvalMembers]),
    ...pick({ require_scopes: unique(value.require_scopes) }, ['require_scopes']),
    ...{ mode: mode ?? 'enforce', enabled: enabled !== false },
    ...{ subjects: membersOf(subjects), targets: membersOf(targets) }
  }
}

/** Returns a key set as the gateway stores it; one that it will refuse, as it is. */
const keysOf = (jwks: unknown): unknown => (keySetProblem(jwks) === undefined ? toKeySet(jwks as KeySet) : jwks)

/**
 * Returns the change from `before` to `after`; undefined if equal. An absent side means that the resource does not
 * exist there.
 */
export function diffResource(kind: FileKind, name: string, before?: Members, after?: Members): Change | undefined {
  const changes = difference(before, after)
  if (changes.changed.length === 0) return undefined
  const action = before === undefined ? 'create' : after === undefined ? 'delete' : 'update'
  return { action, kind, name, difference: changes }
}
