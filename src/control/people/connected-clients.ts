import { hash } from 'node:crypto'
import type { Caller } from '../../catalog/caller.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { COMMAND_LINE_CLIENT } from '../../domain/product.ts'
import { notFound } from '../../lib/errors.ts'
import type { GrantPlace, StoredGrant } from '../../registry/repositories/oauth-grants.ts'
import type { Registry } from '../../registry/registry.ts'
import type { ConnectedClient, OAuthGrant } from '../../schemas/oauth-client.ts'
import { auditChange } from '../audit-change.ts'
import { requireWholeAccount, userIdOf } from '../own-account.ts'

/** Which grants to list: of a user by name, to a client by `client_id`, at most `limit` after a place. */
export interface GrantQuery {
  readonly user?: string
  readonly client?: string
  readonly limit: number
  readonly after?: GrantPlace
}

/** OAuth clients that act for users, and the sign-ins of users. Methods reject with AppError. */
export interface ConnectedClients {
  /** Returns the clients that act for the caller, the last connected first. */
  listOwn(caller: Caller): Promise<ConnectedClient[]>
  /** Ends what the caller gave to a client. 403 for a personal token, 404. */
  endOwn(caller: Caller, id: string): Promise<void>
  /** Returns what all users gave to clients, the newest first; empty for an unknown user or client. */
  listGrants(query: GrantQuery): Promise<{ readonly grants: OAuthGrant[]; readonly next: GrantPlace | undefined }>
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
  const users = (): Owner[] => catalog().principals.flatMap(({ stored }) => (stored.kind === 'client' ? [] : [stored]))
  const find = (name: string): Owner => {
    const found = users().find((user) => user.name === name)
    if (!found) throw notFound('user', name)
    return found
  }
  /** Returns a function for the name of each of these clients, which it said of itself. */
  const readNames = async (clientIds: readonly string[]) => {
    const registered = await registry.oauthRecords.findAll('Client', clientIds)
    return (clientId: string) =>
      clientId === COMMAND_LINE_CLIENT ? 'command line' : registered.get(clientId)?.['client_name']
  }
  const list = async ({ id }: Owner): Promise<ConnectedClient[]> => {
    const clients = groupByClient(await registry.oauthGrants.ofUser(id))
    const nameOf = await readNames([...clients.keys()])
    return [...clients].map(([clientId, grants]) => describe(clientId, grants, nameOf(clientId)))
  }
  const listGrants: ConnectedClients['listGrants'] = async ({ user, client, limit, after }) => {
    const names = new Map(users().map(({ id, name }) => [id, name]))
    const owner = user === undefined ? undefined : users().find(({ name }) => name === user)
    if (user !== undefined && !owner) return { grants: [], next: undefined }
    const { grants, next } = await registry.oauthGrants.page({
      limit,
      ...(owner && { userId: owner.id }),
      ...(client !== undefined && { clientId: client }),
      ...(after && { after })
    })
    const nameOf = await readNames([...new Set(grants.map(({ clientId }) => clientId))])
    const described = grants.flatMap((grant) => {
      const name = names.get(grant.userId)
      // a user may be new on another replica
      return name === undefined ? [] : { user: name, ...describe(grant.clientId, [grant], nameOf(grant.clientId)) }
    })
    return { grants: described, next }
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
    listGrants,
    listOf: async (name) => list(find(name)),
    endOf: async (caller, name, id) => end(caller, find(name), id),
    async signOutOwn(caller) {
      requireWholeAccount(caller)
      await signOut(caller, self(caller))
    },
    signOutOf: async (caller, name) => signOut(caller, find(name))
  }
}
