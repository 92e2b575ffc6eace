import type { Caller } from '../../catalog/caller.ts'
import { AppError, notFound } from '../../lib/errors.ts'
import type { OAuthRecord, Page } from '../../registry/oauth-records.ts'
import { APPROVAL } from '../../registry/repositories/oauth-grants.ts'
import type { Registry } from '../../registry/registry.ts'
import type { RegisteredClient } from '../../schemas/oauth-client.ts'
import { auditChange } from '../audit-change.ts'

const MAX_NAME = 256

/** OAuth clients that registered themselves (RFC 7591). Methods reject with AppError. */
export interface RegisteredClients {
  /** Returns the clients, the last registered first. */
  list(page: Page): Promise<RegisteredClient[]>
  /** Lets people let the client in (`TOWPATH_OAUTH_DCR=approve`). 404. */
  approve(caller: Caller, id: string): Promise<RegisteredClient>
  /** Removes a client and ends everything that people gave to it. 404. */
  remove(caller: Caller, id: string): Promise<void>
  isApproved(id: string): Promise<boolean>
}

type Storage = Pick<Registry, 'write' | 'recordAction' | 'oauthRecords' | 'oauthGrants'>

const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

function describe(payload: OAuthRecord, approved: boolean, createdAt?: Date): RegisteredClient {
  const name = payload['client_name']
  return {
    id: String(payload['client_id']),
    ...(typeof name === 'string' && name !== '' && { name: name.slice(0, MAX_NAME) }),
    redirect_uris: textsOf(payload['redirect_uris']),
    approved,
    ...(createdAt && { registered_at: createdAt.toISOString() })
  }
}

export function createRegisteredClients(registry: Storage): RegisteredClients {
  const records = () => registry.oauthRecords
  const isApproved = async (id: string) => (await records().find(APPROVAL, id)) !== undefined
  const find = async (id: string): Promise<OAuthRecord> => {
    const found = await records().find('Client', id)
    if (!found) throw notFound('OAuth client', id)
    return found.payload
  }
  return {
    isApproved,
    async list(page) {
      const clients = await records().list('Client', page)
      const ids = clients.map(({ payload }) => String(payload['client_id']))
      const approved = await records().findAll(APPROVAL, ids)
      return clients.map(({ payload, createdAt }, i) => describe(payload, approved.has(ids[i]!), createdAt))
    },

    async approve(caller, id) {
      const payload = await find(id)
      await registry.recordAction(auditChange(caller, 'oauth_client.approve', id))
      await records().upsert(APPROVAL, id, { approved_by: caller.name }, undefined)
      return describe(payload, true)
    },

    async remove(caller, id) {
      await find(id)
      const hashes = await registry.oauthGrants.ofClient(id)
      await registry.write(auditChange(caller, 'oauth_client.remove', id), (tx) =>
        tx.oauthGrants.removeClient(id, hashes)
      )
    }
  }
}

/** Refuses (403) a client that an administrator has to approve first. `name`: as pages show it. */
export const notApproved = (name: string, id: string): AppError =>
  new AppError(403, `An administrator has to approve ${name} before you can let it in. It is registered as ${id}.`)
