import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Client, ClientMetadata, Provider } from 'oidc-provider'
import { CLIENT_CLAIM, credentialsDigest } from '../domain/access/client-credentials.ts'
import type { StoredClient } from '../registry/model/model.ts'

export const CLIENT_CREDENTIALS = 'client_credentials'

/** Finds an MCP client of the gateway by its name. */
export type FindMcpClient = (name: string) => StoredClient | undefined

/** MCP clients of the gateway as OAuth clients, which get tokens as themselves (oauth-client-credentials extension). */
export interface McpClients {
  /** Returns the MCP client that an OAuth client is; undefined for one that registered itself. */
  of(client: Client): StoredClient | undefined
  /** Returns the claims of a token that a client gets as itself. */
  claimsOf(client: Client): Readonly<Record<string, string>> | undefined
}

export interface McpClientsOptions {
  readonly find: FindMcpClient
  /** Ids of clients that every gateway knows. */
  readonly reserved: ReadonlySet<string>
  /** Grants that they may use for people. */
  readonly grants: readonly string[]
}

/** Constructor of the library, which its types leave out. */
type CreateClient = new (metadata: ClientMetadata) => Client

/** One method for each client: with keys its token no longer counts here, so that a leaked one gives no new tokens. */
function metadataOf({ name, jwks, jwks_uri }: StoredClient, grants: readonly string[]): ClientMetadata {
  const hasKeys = jwks !== null || jwks_uri !== null
  return {
    client_id: name,
    client_name: name,
    token_endpoint_auth_method: hasKeys ? 'private_key_jwt' : 'client_secret_basic',
    // never compared: only the hash of the token is known
    ...(!hasKeys && { client_secret: randomBytes(32).toString('base64url') }),
    ...(jwks && { jwks: jwks as NonNullable<ClientMetadata['jwks']> }),
    ...(jwks_uri !== null && { jwks_uri }),
    grant_types: [CLIENT_CREDENTIALS, ...grants],
    response_types: [],
    redirect_uris: [],
    scope: 'mcp'
  }
}

/**
 * Lets MCP clients authenticate at the token endpoint, by their name and their access token or a signed assertion (RFC
 * 7523 2.2). No other client may use the client credentials grant.
 */
export function addMcpClients(provider: Provider, { find, reserved, grants }: McpClientsOptions): McpClients {
  const { Client: LibraryClient } = provider as unknown as { Client: CreateClient & typeof Client }
  const known = new WeakMap<StoredClient, Client>()
  const storedOf = new WeakMap<Client, StoredClient>()
  const create = (stored: StoredClient): Client => {
    const client = new LibraryClient(metadataOf(stored, grants))
    client.compareClientSecret = (given) => {
      const hash = createHash('sha256').update(given).digest()
      return stored.tokens.some((token) => timingSafeEqual(token.hash, hash))
    }
    known.set(stored, client)
    storedOf.set(client, stored)
    return client
  }
  const findOther = LibraryClient.find.bind(LibraryClient)
  LibraryClient.find = async (id) => {
    const stored = typeof id === 'string' && !reserved.has(id) ? find(id) : undefined
    return stored ? (known.get(stored) ?? create(stored)) : findOther(id)
  }
  const { grantTypeAllowed } = LibraryClient.prototype
  LibraryClient.prototype.grantTypeAllowed = function (this: Client, type) {
    return grantTypeAllowed.call(this, type) && (type !== CLIENT_CREDENTIALS || storedOf.has(this))
  }
  return {
    of: (client) => storedOf.get(client),
    claimsOf(client) {
      const stored = storedOf.get(client)
      return stored && { [CLIENT_CLAIM]: stored.id, gid: credentialsDigest(stored).toString('base64url') }
    }
  }
}
