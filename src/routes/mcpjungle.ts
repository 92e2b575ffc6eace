import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../errors.ts'

/**
 * Members that MCPJungle's own client sends and reads beside the contract's
 * (http-contract.md#mcpjungles-command-line): it is what scripts of
 * those who move have installed.
 */
export const withUsername = <T extends { readonly name: string }>(user: T) => ({ ...user, username: user.name })

export const withAllowList = <T extends { readonly allowed_servers: readonly string[] }>(client: T) => ({
  ...client,
  allow_list: client.allowed_servers
})

export const withServer = <T extends object>(record: T) => ({ ...record, server: record })

type Given = readonly [member: string, value: unknown]

/** The value of what has two spellings, undefined where neither is given. 400 where they differ. */
function oneOf<T>([member, value]: Given, [alias, other]: Given): T | undefined {
  if (value !== undefined && other !== undefined && !isDeepStrictEqual(value, other)) {
    throw invalid(`"${member}" and "${alias}" are two spellings of one member: they must not differ`)
  }
  return (value ?? other) as T | undefined
}

/** The name of a user; `fallback` is the one in the path. 400. */
export function nameOf({ name, username }: { name?: string; username?: string }, fallback?: string): string {
  const given = oneOf<string>(['name', name], ['username', username]) ?? fallback
  if (given === undefined) throw invalid('"name" is required')
  if (fallback !== undefined && given !== fallback) {
    throw invalid(`"${name === undefined ? 'username' : 'name'}" must be the name in the path: a user keeps its name`)
  }
  return given
}

interface ClientAccess {
  readonly allowed_servers?: readonly string[]
  readonly allow_list?: readonly string[] | null
  readonly access_token?: string
  readonly is_custom_access_token?: boolean
}

/** The servers that a client may use, undefined where nothing is said of them. 400. */
export function allowedOf(client: ClientAccess): readonly string[] | undefined {
  const { allowed_servers, allow_list, access_token, is_custom_access_token } = client
  if (is_custom_access_token && access_token === undefined) {
    throw invalid('"is_custom_access_token" says that "access_token" is given, and it is not')
  }
  return oneOf(['allowed_servers', allowed_servers], ['allow_list', allow_list ?? undefined])
}
