import { principalIdOf, type Caller } from '../catalog/caller.ts'
import { includesScope, type TokenScope } from '../domain/access/access.ts'
import { COMMAND_LINE_CLIENT } from '../domain/product.ts'
import { forbidden } from '../lib/errors.ts'

/** Returns the id of the user who makes a request. */
export const userIdOf = ({ key }: Caller): string => principalIdOf(key).slice('user:'.length)

/**
 * Refuses (403) to manage access tokens and sign-ins with a token of few rights: a stolen one must not become one with
 * more, or outlive its expiry. The product's own command line may do what its user may, if it got all rights.
 */
export function requireWholeAccount({ scopes, oauthClient }: Caller): void {
  if (scopes === undefined) return
  if (oauthClient === COMMAND_LINE_CLIENT && scopes.includes('towpath:admin')) return
  throw forbidden(
    'a token with scopes cannot manage access tokens and sign-ins: use the token that an administrator issued, or sign in with `towpath login`'
  )
}

/**
 * Refuses (403) to create a personal access token that has more rights, or lives longer, than what the caller signed in
 * with.
 */
export function requireTokenRights(caller: Caller, wanted: readonly TokenScope[]): void {
  requireWholeAccount(caller)
  const { scopes, signIn } = caller
  if (signIn?.staticToken) throw forbidden('a session that began with a static token creates no access tokens')
  if (!scopes) return
  const missing = wanted.find((scope) => scope !== 'mcp' && !includesScope(scopes, scope))
  if (missing === undefined) return
  throw forbidden(`the scope "${missing}" was not given to the command line: sign in with \`towpath login --scopes\``)
}
