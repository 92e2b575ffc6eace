import { hash, randomBytes } from 'node:crypto'
import { notFound } from '../lib/errors.ts'
import type { ClientConfig, StoredClient, StoredUser } from '../registry/model/model.ts'
import { FIRST_ADMIN } from '../registry/repositories/principals.ts'
import type { Registry } from '../registry/registry.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { auditChange } from './audit-change.ts'
import type { ClientRecord, Gateway } from './gateway.ts'

type Principals = Pick<
  Gateway,
  | 'callerOf'
  | 'hasValidToken'
  | 'initialize'
  | 'users'
  | 'createUser'
  | 'rotateUser'
  | 'removeUser'
  | 'clients'
  | 'client'
  | 'createClient'
  | 'changeClient'
  | 'removeClient'
>

/** Hashes a token for storage. Tokens are random and long, so a fast hash is enough (security-model.md#tokens). */
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer')

const newToken = () => `twp_${randomBytes(32).toString('base64url')}`

const clientRecord = ({ name, description, allowed_servers }: ClientConfig): ClientRecord => ({
  name,
  ...(description === null ? {} : { description }),
  allowed_servers
})

/** Differences between the principals of two catalogs. */
export interface PrincipalChanges {
  /** Keys of the principals whose token was revoked or rotated. */
  readonly revoked: ReadonlySet<string>
  /** True if the allow list of some client differs. */
  readonly hasNewAllowLists: boolean
}

/** Compares the principals of two catalogs. */
export function comparePrincipals(before: Catalog, next: Catalog): PrincipalChanges {
  const revoked = new Set<string>()
  let hasNewAllowLists = false
  for (const { caller } of before.principals) {
    const current = next.currentPrincipal(caller)
    if (!current) revoked.add(caller.key)
    else if (current.caller.allowed.contentHash !== caller.allowed.contentHash) hasNewAllowLists = true
  }
  return { revoked, hasNewAllowLists }
}

/**
 * Creates the operations on users and MCP clients (http-contract.md#clients-and-users). A token is returned once, when
 * it is issued; only its hash is stored.
 */
export function createPrincipals(registry: Pick<Registry, 'write'>, catalog: () => Catalog): Principals {
  const stored = () => catalog().principals.map((principal) => principal.stored)
  const clients = () => stored().filter((each): each is StoredClient => each.kind === 'client')

  return {
    callerOf: (token) => catalog().principal(hashToken(token))?.caller,
    hasValidToken: (caller) => catalog().currentPrincipal(caller) !== undefined,

    async initialize(origin, token = newToken()) {
      const by = auditChange({ ...origin, kind: 'admin', name: FIRST_ADMIN }, 'gateway.initialize', FIRST_ADMIN)
      await registry.write(by, (tx) => tx.principals.initialize(hashToken(token)))
      return { access_token: token }
    },

    users: () =>
      stored()
        .filter((each): each is StoredUser => each.kind !== 'client')
        .map(({ name, kind }) => ({ name, role: kind })),

    async createUser(caller, { name, role }, token = newToken()) {
      await registry.write(auditChange(caller, 'user.create', name), (tx) =>
        tx.principals.createUser({ name, role }, hashToken(token))
      )
      return { name, role, access_token: token }
    },

    async rotateUser(caller, name, token = newToken()) {
      const role = await registry.write(auditChange(caller, 'user.rotate', name), (tx) =>
        tx.principals.replaceUserToken(name, hashToken(token))
      )
      return { name, role, access_token: token }
    },

    async removeUser(caller, name) {
      await registry.write(auditChange(caller, 'user.remove', name), (tx) => tx.principals.removeUser(name))
    },

    clients: () => clients().map(clientRecord),

    client(_caller, name) {
      const found = clients().find((each) => each.name === name)
      if (!found) throw notFound('client', name)
      return clientRecord(found)
    },

    async createClient(caller, client, token = newToken()) {
      await registry.write(auditChange(caller, 'client.create', client.name), (tx) =>
        tx.principals.createClient(client, hashToken(token))
      )
      return { ...clientRecord(client), access_token: token }
    },

    async changeClient(caller, name, { access_token, ...changes }) {
      const tokenHash = access_token === undefined ? undefined : hashToken(access_token)
      const changed = await registry.write(auditChange(caller, 'client.change', name), (tx) =>
        tx.principals.updateClient(name, { ...changes, tokenHash })
      )
      return clientRecord(changed)
    },

    async removeClient(caller, name) {
      await registry.write(auditChange(caller, 'client.remove', name), (tx) => tx.principals.removeClient(name))
    }
  }
}
