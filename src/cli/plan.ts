import { difference, type Difference, type Members } from '../domain/difference.ts'
import type { Filed } from './check.ts'

/** One step from what is to what is wanted. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete'
  readonly kind: Filed
  readonly name: string
  /** Secrets in it are masked. */
  readonly difference: Difference
}

/** A change, and what became of it. */
export interface Result extends Change {
  readonly outcome: 'planned' | 'done' | 'failed' | 'skipped'
  readonly error?: string
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const pick = (value: Members, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (isNothing(value[name]) ? [] : [[name, value[name]]])))

const once = (value: unknown): unknown => (Array.isArray(value) ? [...new Set(value)] : value)

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
 * What of a thing is configuration, in one form: what says nothing is left out, and so is what the gateway would not
 * keep. Two of the same form are the same thing.
 */
export function normalised(kind: Filed, value: Members): Record<string, unknown> {
  if (kind === 'server') {
    const own = byTransport[String(value.transport)] ?? []
    const all = pick(value, ['name', 'transport', 'description', 'session_mode', ...own])
    return { ...all, session_mode: all.session_mode ?? 'stateless' }
  }
  if (kind === 'user') return pick(value, ['name', 'role'])
  const lists = kind === 'group' ? ['included_tools', 'included_servers', 'excluded_tools'] : ['allowed_servers']
  const bare = value.tool_names === 'bare' ? { tool_names: 'bare' } : {}
  return {
    ...pick(value, ['name', 'description']),
    ...Object.fromEntries(lists.map((name) => [name, once(value[name] ?? [])])),
    ...bare
  }
}

/** The change that makes `after` of `before`; undefined for none. Absent: there is none of that name. */
export function changeOf(kind: Filed, name: string, before?: Members, after?: Members): Change | undefined {
  const found = difference(before, after)
  if (found.changed.length === 0) return undefined
  const action = before === undefined ? 'create' : after === undefined ? 'delete' : 'update'
  return { action, kind, name, difference: found }
}
