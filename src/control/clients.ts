import type { Caller } from '../catalog/caller.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { KeySet } from '../domain/access/client-keys.ts'
import { notFound } from '../lib/errors.ts'
import type { ClientConfig, StoredClient } from '../registry/model/model.ts'
import type { ClientUpdate } from '../registry/repositories/principals.ts'
import type { Registry } from '../registry/registry.ts'
import { auditChange } from './audit-change.ts'
import { parseKeys, type KeysInput } from './client-keys.ts'
import { hashToken, newToken, type IssuedToken } from '../lib/tokens.ts'

/** An MCP client in REST answers. */
export interface ClientRecord {
  readonly name: string
  readonly description?: string
  readonly allowed_servers: readonly string[]
  readonly jwks?: KeySet
  readonly jwks_uri?: string
}

/** A client as given. */
export type ClientInput = Omit<ClientConfig, keyof KeysInput> & KeysInput

/** Changes to a client; absent members stay as they are. */
export type ClientPatch = Omit<ClientUpdate, 'tokenHash' | keyof KeysInput> &
  KeysInput & { readonly access_token?: string | undefined }

/** Operations on MCP clients. A given `token` is used instead of a generated one. */
export interface Clients {
  list(): ClientRecord[]
  /** 404. */
  get(name: string): ClientRecord
  /** 400 for keys that cannot be used, 409 if the name or the token is taken. */
  create(caller: Caller, client: ClientInput, token?: string): Promise<ClientRecord & IssuedToken>
  /** 400 for keys that cannot be used, 404, 409 if the token is taken. */
  change(caller: Caller, name: string, changes: ClientPatch): Promise<ClientRecord>
  /** Returns a client with the hash of its token; undefined if there is none of this name. */
  find(name: string): StoredClient | undefined
  /** Tests if the public keys of a client are at this address. */
  hasKeysAt(url: string): boolean
  /** Removes a client and ends its sessions and streams. 404. */
  remove(caller: Caller, name: string): Promise<void>
}

const clientRecord = ({ name, description, allowed_servers, jwks, jwks_uri }: ClientConfig): ClientRecord => ({
  name,
  ...(description === null ? {} : { description }),
  allowed_servers,
  ...(jwks && { jwks }),
  ...(jwks_uri !== null && { jwks_uri })
})

export function createClients(registry: Pick<Registry, 'write'>, catalog: () => Catalog): Clients {
  const stored = () =>
    catalog()
      .principals.map((principal) => principal.stored)
      .filter((each): each is StoredClient => each.kind === 'client')
  return {
    list: () => stored().map(clientRecord),

    get(name) {
      const found = stored().find((each) => each.name === name)
      if (!found) throw notFound('client', name)
      return clientRecord(found)
    },

    async create(caller, { jwks, jwks_uri, ...rest }, token = newToken()) {
      const client = { ...rest, jwks: null, jwks_uri: null, ...parseKeys({ jwks, jwks_uri }) }
      await registry.write(auditChange(caller, 'client.create', client.name), (tx) =>
        tx.principals.createClient(client, hashToken(token))
      )
      return { ...clientRecord(client), access_token: token }
    },

    async change(caller, name, { access_token, jwks, jwks_uri, ...rest }) {
      const tokenHash = access_token === undefined ? undefined : hashToken(access_token)
      const changes = { ...rest, ...parseKeys({ jwks, jwks_uri }) }
      const changed = await registry.write(auditChange(caller, 'client.change', name), (tx) =>
        tx.principals.updateClient(name, { ...changes, tokenHash })
      )
      return clientRecord(changed)
    },

    find: (name) => catalog().client(name),
    hasKeysAt: (url) => stored().some(({ jwks_uri }) => jwks_uri === url),

    async remove(caller, name) {
      await registry.write(auditChange(caller, 'client.remove', name), (tx) => tx.principals.removeClient(name))
    }
  }
}
