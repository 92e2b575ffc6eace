import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../lib/errors.ts'

/**
 * Aliases for the members that MCPJungle's command line sends and reads (http-contract.md#mcpjungles-command-line),
 * because existing scripts use it.
 */
export const withUsername = <T extends { readonly name: string }>(user: T) => ({ ...user, username: user.name })

export const withAllowList = <T extends { readonly allowed_servers: readonly string[] }>(client: T) => ({
  ...client,
  allow_list: client.allowed_servers
})

export const withServer = <T extends object>(record: T) => ({ ...record, server: record })

type Member = readonly [member: string, value: unknown]

/**
 * Returns the value of a member that has an alias; undefined if neither is given. Throws AppError 400 if both are given
 * and differ.
 */
function resolveAlias<T>([member, value]: Member, [alias, other]: Member): T | undefined {
  if (value !== undefined && other !== undefined && !isDeepStrictEqual(value, other)) {
    throw invalid(`"${alias}" is an alias of "${member}": the two must not differ`)
  }
  return (value ?? other) as T | undefined
}

/** Returns the name of a user; `fallback` is the name in the path. Throws AppError 400. */
export function userNameOf({ name, username }: { name?: string; username?: string }, fallback?: string): string {
  const given = resolveAlias<string>(['name', name], ['username', username]) ?? fallback
  if (given === undefined) throw invalid('"name" is required')
  if (fallback !== undefined && given !== fallback) {
    throw invalid(
      `"${name === undefined ? 'username' : 'name'}" must be the name in the path: a user cannot be renamed`
    )
  }
  return given
}

interface ClientAccess {
  readonly allowed_servers?: readonly string[]
  readonly allow_list?: readonly string[] | null
  readonly access_token?: string
  readonly is_custom_access_token?: boolean
}

/** Returns the servers that a client may use; undefined if the input has no list. Throws AppError 400. */
export function allowedServersOf(client: ClientAccess): readonly string[] | undefined {
  const { allowed_servers, allow_list, access_token, is_custom_access_token } = client
  if (is_custom_access_token && access_token === undefined) {
    throw invalid('"is_custom_access_token" requires "access_token"')
  }
  return resolveAlias(['allowed_servers', allowed_servers], ['allow_list', allow_list ?? undefined])
}
