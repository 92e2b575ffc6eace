import { hash } from 'node:crypto'
import type { Caller } from '../../catalog/caller.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { COMMAND_LINE_CLIENT } from '../../domain/product.ts'
import { notFound } from '../../lib/errors.ts'
import type { StoredGrant } from '../../registry/repositories/oauth-grants.ts'
import type { Registry } from '../../registry/registry.ts'
import type { ConnectedClient } from '../../schemas/oauth-client.ts'
import { auditChange } from '../audit-change.ts'
import { requireWholeAccount, userIdOf } from '../own-account.ts'

/** OAuth clients that act for users, and the sign-ins of users (identity and policies, section 5). Methods reject with AppError. */
export interface ConnectedClients {
  /** Returns the clients that act for the caller, the last connected first. */
  listOwn(caller: Caller): Promise<ConnectedClient[]>
  /** Ends what the caller gave to a client. 403 for a personal token, 404. */
  endOwn(caller: Caller, id: string): Promise<void>
  /** 404. */
  listOf(name: string): Promise<ConnectedClient[]>
  /** 404. */
  endOf(caller: Caller, name: string, id: string): Promise<void>
  /** Ends all browser sessions and clients of the caller. 403 for a personal token. */
  signOutOwn(caller: Caller): Promise<void>
  /** Ends all browser sessions and clients of a user; access tokens of the gateway stay. 404. */
  signOutOf(caller: Caller, name: string): Promise<void>
}

type Storage = Pick<Registry, 'write' | 'oauthGrants' | 'oauthRecords'>

interface Owner {
  readonly id: string
  readonly name: string
}

const idOf = (clientId: string) => hash('sha256', clientId, 'hex').slice(0, 32)

function groupByClient(grants: readonly StoredGrant[]): Map<string, StoredGrant[]> {
  const groups = new Map<string, StoredGrant[]>()
  for (const grant of grants) {
    const own = groups.get(grant.clientId)
    if (own) own.push(grant)
    else groups.set(grant.clientId, [grant])
  }
  return groups
}

/** Returns the endpoints of all grants of one client with the scopes of each. */
function endpointsOf(grants: readonly StoredGrant[]): ConnectedClient['endpoints'] {
  const scopes = new Map<string, Set<string>>()
  for (const { resources } of grants) {
    for (const [url, text] of Object.entries(resources)) {
      const known = scopes.get(url) ?? new Set()
      scopes.set(url, known)
      for (const scope of text.split(' ')) if (scope !== '') known.add(scope)
    }
  }
  return [...scopes].map(([url, own]) => ({ url, scopes: [...own].toSorted() }))
}

function describe(clientId: string, grants: readonly StoredGrant[], name: unknown): ConnectedClient {
  const renewals = grants.flatMap(({ renewedAt }) => (renewedAt ? [renewedAt.getTime()] : []))
  return {
    id: idOf(clientId),
    client_id: clientId,
    ...(typeof name === 'string' && name !== '' && { name: name.slice(0, 256) }),
    endpoints: endpointsOf(grants),
    connected_at: grants.at(-1)!.createdAt.toISOString(),
    ...(renewals.length > 0 && { renewed_at: new Date(Math.max(...renewals)).toISOString() })
  }
}

export function createConnectedClients(registry: Storage, catalog: () => Catalog): ConnectedClients {
  const self = (caller: Caller): Owner => ({ id: userIdOf(caller), name: caller.name })
  const find = (name: string): Owner => {
    const found = catalog().principals.find(({ stored }) => stored.kind !== 'client' && stored.name === name)
    if (!found) throw notFound('user', name)
    return found.stored
  }
  const list = async ({ id }: Owner): Promise<ConnectedClient[]> => {
    const clients = groupByClient(await registry.oauthGrants.ofUser(id))
    const registered = await registry.oauthRecords.findAll('Client', [...clients.keys()])
    const nameOf = (clientId: string) =>
      clientId === COMMAND_LINE_CLIENT ? 'command line' : registered.get(clientId)?.['client_name']
    return [...clients].map(([clientId, grants]) => describe(clientId, grants, nameOf(clientId)))
  }
  const end = async (caller: Caller, owner: Owner, id: string): Promise<void> => {
    const grants = (await registry.oauthGrants.ofUser(owner.id)).filter(({ clientId }) => idOf(clientId) === id)
    if (grants.length === 0) throw notFound('connected client', id)
    const hashes = grants.map(({ hash: grantHash }) => grantHash)
    await registry.write(auditChange(caller, 'oauth.disconnect', owner.name), (tx) => tx.oauthGrants.end(hashes))
  }
  const signOut = (caller: Caller, { id, name }: Owner) =>
    registry.write(auditChange(caller, 'session.end_all', name), (tx) => tx.identities.endSignIns(id))
  return {
    listOwn: (caller) => list(self(caller)),
    async endOwn(caller, id) {
      requireWholeAccount(caller)
      await end(caller, self(caller), id)
    },
    listOf: async (name) => list(find(name)),
    endOf: async (caller, name, id) => end(caller, find(name), id),
    async signOutOwn(caller) {
      requireWholeAccount(caller)
      await signOut(caller, self(caller))
    },
    signOutOf: async (caller, name) => signOut(caller, find(name))
  }
}
