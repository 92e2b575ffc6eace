import { splitName } from '../domain/names.ts'
import { AppError, conflict, notFound } from '../errors.ts'
import type { ItemKind, Offer, ServerConfig, ServerSecrets, StoredServer } from '../registry/model.ts'
import type { Registry } from '../registry/registry.ts'
import type { Catalog, Item, ServerBlock } from './catalog.ts'
import { changeBy } from './change.ts'
import type { Caller, Gateway, RefreshResult, ServerRecord } from './gateway.ts'
import { restName, serverRecord } from './records.ts'
import { anyByUri } from './scope.ts'
import { hasCredential, type Target } from './transports.ts'
import { toAppError, UpstreamFailure } from './upstream/failure.ts'

/** What changing the registry needs of the data plane. */
export interface ManagementOptions {
  readonly registry: Registry
  catalog(): Catalog
  /** Connects, finds out what the upstream speaks and reads its lists. Rejects with UpstreamFailure. */
  readOffer(target: Target): Promise<Offer>
}

type Management = Pick<
  Gateway,
  'servers' | 'server' | 'register' | 'replace' | 'remove' | 'refresh' | 'setServerEnabled' | 'setItemsEnabled'
>

const oauthRequired = () =>
  new AppError(
    400,
    'the upstream asks for authorization: give "bearer_token", or an "Authorization" header in "headers"; ' +
      'signing in with OAuth is not available in this version',
    { code: 'upstream_oauth_required' }
  )

const secretsOf = ({ bearer_token, headers, env, oauth_client_secret }: ServerConfig): ServerSecrets => ({
  ...(bearer_token === undefined ? {} : { bearer_token }),
  ...(headers === undefined ? {} : { headers }),
  ...(env === undefined ? {} : { env }),
  ...(oauth_client_secret === undefined ? {} : { oauth_client_secret })
})

const targetOf = (config: ServerConfig): Target => ({
  name: config.name,
  transport: config.transport,
  settings: config,
  secrets: secretsOf(config),
  verdict: null
})

export function createManagement(options: ManagementOptions): Management {
  const { registry, catalog, readOffer } = options

  const find = (name: string): ServerBlock => {
    const server = catalog().server(name)
    if (!server) throw notFound('server', name)
    return server
  }
  /** What was just stored, also where this process is slow to serve it: what is committed is answered as done. */
  const written = (caller: Caller, config: ServerConfig, enabled: boolean): ServerRecord => {
    const server = catalog().server(config.name)
    if (server) return record(caller, server)
    const { name, transport, session_mode, description = null } = config
    return serverRecord(
      { stored: { name, transport, session_mode, description, settings: config, enabled } },
      secretsOf(config),
      caller
    )
  }
  const record = (caller: Caller, server: ServerBlock) => serverRecord(server, registry.secrets(server.stored), caller)

  /** `isGiven`: the caller has just said where to connect to. */
  const contact = async (target: Target, isGiven: boolean): Promise<Offer> => {
    try {
      return await readOffer(target)
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error
      if (error.reason === 'auth' && error.status === 401 && !hasCredential(target.secrets)) throw oauthRequired()
      if (error.reason === 'denied' && isGiven) throw new AppError(400, error.message, { cause: error })
      throw toAppError(error, target.name)
    }
  }
  const targetOfStored = (stored: StoredServer): Target => ({ ...stored, secrets: registry.secrets(stored) })

  const itemOf = (kind: ItemKind, entity: string): Item | undefined => {
    if (kind === 'tool' || kind === 'prompt') {
      const split = splitName(entity)
      return split && catalog().server(split.server)?.find(kind, split.name)
    }
    return anyByUri(catalog(), kind, entity)
  }
  const publicNames = (server: ServerBlock, kind: ItemKind, names: readonly string[]) =>
    names.map((name) => {
      const item = server.find(kind, name)
      return item ? restName(catalog(), item) : name
    })

  return {
    servers: (caller) => catalog().servers.map((server) => record(caller, server)),
    server: (caller, name) => record(caller, find(name)),

    async register(caller, config, { force }) {
      if (!force && catalog().server(config.name)) throw conflict('server', config.name)
      const offer = await contact(targetOf(config), true)
      await registry.write(changeBy(caller, force ? 'server.force' : 'server.create', config.name), async (tx) => {
        if (force) await tx.servers.discard(config.name)
        await tx.servers.create(config, offer)
      })
      return written(caller, config, true)
    },

    async replace(caller, name, config) {
      const { enabled } = find(name)
      const offer = await contact(targetOf(config), true)
      await registry.write(changeBy(caller, 'server.replace', name), (tx) => tx.servers.replace(name, config, offer))
      return written(caller, config, enabled)
    },

    async remove(caller, name) {
      await registry.write(changeBy(caller, 'server.remove', name), (tx) => tx.servers.remove(name))
    },

    async refresh(caller, name): Promise<RefreshResult> {
      const { stored } = find(name)
      const offer = await contact({ ...targetOfStored(stored), verdict: null }, false)
      const before = catalog()
      const difference = await registry.refresh(changeBy(caller, 'server.refresh', name), stored.id, offer, stored)
      const known = (block: ServerBlock | undefined, { kind, name: own }: { kind: ItemKind; name: string }) =>
        block?.find(kind, own)?.publicName ?? own
      return {
        name,
        added: difference.added.map((ref) => known(catalog().server(name), ref)),
        removed: difference.removed.map((ref) => known(before.server(name), ref)),
        changed: difference.changed.map((ref) => known(catalog().server(name), ref))
      }
    },

    async setServerEnabled(caller, name, enabled) {
      const action = enabled ? 'server.enable' : 'server.disable'
      const { changed, tools, prompts } = await registry.write(changeBy(caller, action, name), (tx) =>
        tx.servers.setEnabled(name, enabled)
      )
      const qualified = (names: readonly string[]) => (changed ? names.map((own) => `${name}__${own}`) : [])
      return { name, tools_affected: qualified(tools), prompts_affected: qualified(prompts) }
    },

    async setItemsEnabled(caller, kind, entity, enabled) {
      const server = catalog().server(entity)
      const item = server ? undefined : itemOf(kind, entity)
      const owner = server ?? item?.server
      if (!owner) throw notFound(`${kind} or server`, entity)
      const action = `${kind}.${enabled ? 'enable' : 'disable'}`
      const names = await registry.write(changeBy(caller, action, entity), async (tx) => {
        const affected = await tx.items.setEnabled(owner.name, kind, item ? [item.name] : null, enabled)
        if (kind === 'resource' && !item) await tx.items.setEnabled(owner.name, 'template', null, enabled)
        return affected
      })
      return publicNames(catalog().server(owner.name) ?? owner, kind, names)
    }
  }
}
