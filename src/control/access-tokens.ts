import { canHaveScope, scopesFor, type Role, type TokenScope } from '../domain/access/access.ts'
import type { Caller } from '../catalog/caller.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { invalid, notFound } from '../lib/errors.ts'
import type { SignIn } from '../registry/model/model.ts'
import type { TokenRecord } from '../registry/repositories/access-tokens.ts'
import type { Registry } from '../registry/registry.ts'
import { auditChange } from './audit-change.ts'
import { requireTokenRights, requireWholeAccount, userIdOf } from './own-account.ts'
import { hashToken, newToken, type IssuedToken } from '../lib/tokens.ts'

/** An access token in REST answers. */
export interface AccessTokenRecord extends TokenRecord {
  /** True for the token that the request was made with. */
  readonly current: boolean
}

/** A personal access token to create. */
export interface AccessTokenInput {
  readonly name: string
  readonly scopes: readonly TokenScope[]
  /** ISO time. */
  readonly expires_at?: string | undefined
}

/** The authenticated user in REST answers. */
export interface Account {
  readonly name: string
  readonly role: Role
  /** Access token that the request was made with; undefined after a sign-in. */
  readonly token?: AccessTokenRecord
  /** Sign-in that the request was made with. */
  readonly sign_in?: AccountSignIn
}

/** Sign-in of a person in REST answers. */
export interface AccountSignIn {
  readonly kind: 'session' | 'oauth'
  /** Id of the OAuth client; absent for a browser session. */
  readonly client_id?: string
  /** Absent: all rights of the role. */
  readonly scopes?: readonly TokenScope[]
  /** ISO time. */
  readonly expires_at: string
}

/**
 * Access tokens of users (http-contract.md#personal-access-tokens). A token is returned once, when it is created.
 * Methods reject with AppError.
 */
export interface AccessTokens {
  /** Returns the account of the caller, who must be a user. */
  account(caller: Caller): Promise<Account>
  /** Returns the caller's own tokens, oldest first. */
  listOwn(caller: Caller): Promise<AccessTokenRecord[]>
  /** Creates a token of the caller. 400, 403 for a caller who may not have it, 409. */
  create(caller: Caller, input: AccessTokenInput): Promise<AccessTokenRecord & IssuedToken>
  /** Revokes a token of the caller, and ends what it was used for. 403 for a personal token other than itself, 404, 409. */
  revokeOwn(caller: Caller, id: string): Promise<void>
  /** Returns the tokens of a user. 404. */
  listOf(caller: Caller, name: string): Promise<AccessTokenRecord[]>
  /** Revokes a token of a user. 404, 409. */
  revokeOf(caller: Caller, name: string, id: string): Promise<void>
}

function checkInput({ scopes, expires_at }: AccessTokenInput, role: Role): Date | null {
  const scope = scopes.find((each) => !canHaveScope(role, each))
  if (scope !== undefined)
    throw invalid(`the role ${role} has no scope "${scope}": choose from ${scopesFor(role).join(', ')}`)
  if (expires_at === undefined) return null
  const expiresAt = new Date(expires_at)
  if (expiresAt.getTime() <= Date.now()) throw invalid('"expires_at" must be in the future')
  return expiresAt
}

function signInOf({ oauthClient, scopes }: Caller, { expiresAt }: SignIn): AccountSignIn {
  return {
    kind: oauthClient === undefined ? 'session' : 'oauth',
    ...(oauthClient !== undefined && { client_id: oauthClient }),
    ...(scopes && { scopes }),
    expires_at: new Date(expiresAt).toISOString()
  }
}

type Storage = Pick<Registry, 'write' | 'accessTokens'>

export function createAccessTokens({ write, accessTokens }: Storage, catalog: () => Catalog): AccessTokens {
  const list = async (userId: string, { tokenId }: Caller) =>
    (await accessTokens.list(userId)).map((token) => ({ ...token, current: token.id === tokenId }))
  const findUser = (name: string) => {
    const found = catalog().principals.find(({ stored }) => stored.kind !== 'client' && stored.name === name)
    if (!found) throw notFound('user', name)
    return found.stored.id
  }
  const revoke = (caller: Caller, owner: { readonly name: string; readonly id: string }, id: string) =>
    write(auditChange(caller, 'token.revoke', owner.name), (tx) => tx.accessTokens.revoke(owner.id, id))
  return {
    async account(caller) {
      const { signIn, name, kind } = caller
      if (signIn) return { name, role: kind as Role, sign_in: signInOf(caller, signIn) }
      const token = (await list(userIdOf(caller), caller)).find(({ current }) => current)
      if (!token) throw notFound('access token', caller.tokenId ?? '')
      return { name, role: kind as Role, token }
    },

    listOwn: (caller) => list(userIdOf(caller), caller),

    async create(caller, input) {
      requireTokenRights(caller, input.scopes)
      const expiresAt = checkInput(input, caller.kind as Role)
      const token = newToken()
      const { name, scopes } = input
      const created = await write(auditChange(caller, 'token.create', caller.name), (tx) =>
        tx.accessTokens.create(userIdOf(caller), {
          name,
          scopes: [...new Set(scopes)],
          expiresAt,
          hash: hashToken(token)
        })
      )
      return { ...created, current: false, access_token: token }
    },

    async revokeOwn(caller, id) {
      if (id !== caller.tokenId) requireWholeAccount(caller)
      await revoke(caller, { name: caller.name, id: userIdOf(caller) }, id)
    },

    listOf: async (caller, name) => list(findUser(name), caller),
    revokeOf: async (caller, name, id) => revoke(caller, { name, id: findUser(name) }, id)
  }
}
