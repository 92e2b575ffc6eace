import { scopesFor, type Role, type TokenScope } from '../domain/access/access.ts'
import type { Caller } from '../catalog/caller.ts'
import { principalIdOf } from '../catalog/caller.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { forbidden, invalid, notFound } from '../lib/errors.ts'
import type { TokenRecord } from '../registry/repositories/access-tokens.ts'
import type { Registry } from '../registry/registry.ts'
import { auditChange } from './audit-change.ts'
import { hashToken, newToken, type IssuedToken } from './tokens.ts'

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
  /** The token that the request was made with. */
  readonly token: AccessTokenRecord
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
  /** Creates a token of the caller. 400, 403 for a caller with a personal token, 409. */
  create(caller: Caller, input: AccessTokenInput): Promise<AccessTokenRecord & IssuedToken>
  /** Revokes a token of the caller, and ends what it was used for. 403 for a personal token other than itself, 404, 409. */
  revokeOwn(caller: Caller, id: string): Promise<void>
  /** Returns the tokens of a user. 404. */
  listOf(caller: Caller, name: string): Promise<AccessTokenRecord[]>
  /** Revokes a token of a user. 404, 409. */
  revokeOf(caller: Caller, name: string, id: string): Promise<void>
}

/** A stolen token with few rights must not become one with more, or outlive its expiry. */
function requireUnlimited({ scopes }: Caller): void {
  if (scopes === undefined) return
  throw forbidden('a personal access token cannot manage access tokens: use the token that an administrator issued')
}

function checkInput({ scopes, expires_at }: AccessTokenInput, role: Role): Date | null {
  const available = scopesFor(role)
  const scope = scopes.find((each) => !available.includes(each))
  if (scope !== undefined)
    throw invalid(`the role ${role} has no scope "${scope}": choose from ${available.join(', ')}`)
  if (expires_at === undefined) return null
  const expiresAt = new Date(expires_at)
  if (expiresAt.getTime() <= Date.now()) throw invalid('"expires_at" must be in the future')
  return expiresAt
}

type Storage = Pick<Registry, 'write' | 'accessTokens'>

const userIdOf = ({ key }: Caller) => principalIdOf(key).slice('user:'.length)

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
      const token = (await list(userIdOf(caller), caller)).find(({ current }) => current)
      if (!token) throw notFound('access token', caller.tokenId ?? '')
      return { name: caller.name, role: caller.kind as Role, token }
    },

    listOwn: (caller) => list(userIdOf(caller), caller),

    async create(caller, input) {
      requireUnlimited(caller)
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
      if (id !== caller.tokenId) requireUnlimited(caller)
      await revoke(caller, { name: caller.name, id: userIdOf(caller) }, id)
    },

    listOf: async (caller, name) => list(findUser(name), caller),
    revokeOf: async (caller, name, id) => revoke(caller, { name, id: findUser(name) }, id)
  }
}
