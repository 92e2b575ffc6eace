import type { Provider } from 'oidc-provider'
import { knownScopes } from './known-scopes.ts'

/** Parameters of an authorization request, by name. */
export type RequestParameters = Readonly<Record<string, unknown>>

const scopeOf = ({ scope }: RequestParameters): string => (typeof scope === 'string' && scope !== '' ? scope : 'mcp')

/**
 * Returns the scopes that a request asks for and that a client can get, separated by spaces. `ofPolicies`: scopes that
 * policies require at the moment; others are not shown to the user, and so not granted.
 */
export function grantableScope(params: RequestParameters, ofPolicies: readonly string[]): string {
  const known = new Set([...knownScopes, ...ofPolicies])
  return [...new Set(scopeOf(params).split(' '))].filter((scope) => known.has(scope)).join(' ')
}

/** Returns the endpoints that a request is for. */
export const resourcesOf = ({ resource }: RequestParameters): readonly string[] =>
  resource === undefined ? [] : [resource].flat().map(String)

/** Stores that a user has let a client in, and returns the id of the grant. */
export async function saveGrant(
  provider: Provider,
  {
    userId,
    clientId,
    params,
    scope
  }: {
    readonly userId: string
    readonly clientId: string
    readonly params: RequestParameters
    /** Scopes that the user was shown, separated by spaces. */
    readonly scope: string
  }
): Promise<string> {
  const grant = new provider.Grant({ accountId: userId, clientId })
  for (const resource of resourcesOf(params)) grant.addResourceScope(resource, scope)
  if (scope.split(' ').includes('offline_access')) grant.addOIDCScope('offline_access')
  return grant.save()
}

/** Finds an OAuth client; undefined if there is none, or if its document is refused or cannot be read now. */
export async function findClient({ Client }: Provider, clientId: string) {
  try {
    return await Client.find(clientId)
  } catch (error) {
    if (error instanceof Error && 'error_description' in error) return undefined
    throw error
  }
}
